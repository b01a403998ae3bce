import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { newPerson } from "../../../server/test/harness/people.ts";
import { test } from "../harness/dashboard.ts";
import { type SeededNames, seedWorkspace } from "./seed.ts";

const INTO = fileURLToPath(new URL("../../../../screenshots", import.meta.url));

interface Shot {
  readonly path: (names: SeededNames) => string;
  /** Opens a dialog or a menu. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** The pages and their main dialogs, by the names of their pictures. */
const SHOTS: Readonly<Record<string, Shot>> = {
  overview: { path: () => "overview" },
  queues: { path: () => "queues" },
  queue: { path: ({ queue }) => `queues/${queue}` },
  "queue-settings": {
    path: ({ queue }) => `queues/${queue}`,
    prepare: (page) => page.getByRole("button", { name: "Settings" }).click(),
  },
  jobs: { path: () => "jobs" },
  job: { path: ({ failedJob }) => `jobs/${failedJob}` },
  "dead-letters": { path: () => "dead-letters" },
  workers: { path: () => "workers" },
  workflows: { path: () => "workflows" },
  workflow: { path: ({ workflow }) => `workflows/${workflow}` },
  runs: { path: () => "runs" },
  "run-completed": { path: ({ finishedRun }) => `runs/${finishedRun}?step=charge+card` },
  "run-waiting": { path: ({ waitingRun }) => `runs/${waitingRun}` },
  "run-failed": { path: ({ failedRun }) => `runs/${failedRun}` },
  "complete-signal": {
    path: ({ waitingRun }) => `runs/${waitingRun}`,
    prepare: (page) => page.getByRole("button", { name: "Complete the signal" }).click(),
  },
  palette: { path: () => "runs", prepare: (page) => page.keyboard.press("Control+k") },
  shortcuts: { path: () => "runs", prepare: (page) => page.keyboard.press("?") },
};

const only = process.env.SHOTS?.split(",");

test("pictures of the pages", async ({ dashboard, service }) => {
  const names = await seedWorkspace(service);
  const person = await newPerson(service, { operator: true });
  for (const [theme, width] of [
    ["light", 1280],
    ["dark", 1280],
    ["light", 390],
  ] as const) {
    const into = path.join(INTO, width < 600 ? "narrow" : theme);
    mkdirSync(into, { recursive: true });
    for (const [name, { path: pathOf, prepare }] of Object.entries(SHOTS)) {
      if (only && !only.includes(name)) continue;
      const page = await dashboard.open(pathOf(names), { as: person, theme, width });
      await page.waitForLoadState("networkidle");
      await prepare?.(page);
      await page.screenshot({ path: path.join(into, `${name}.png`) });
      await page.context().close();
    }
  }
});

import { mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { newPerson } from "../../../server/test/harness/people.ts";
import { test } from "../harness/dashboard.ts";
import { everyPage } from "../harness/every-page.ts";
import { type SeededNames, seedWorkspace } from "./seed.ts";

const INTO = fileURLToPath(new URL("../../../../screenshots", import.meta.url));
/** Charts are loaded after their page. Milliseconds. */
const CHARTS_MS = 500;

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly bare?: boolean;
  /** Opens a dialog or a menu. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Dialogs, and pages in other states than that of `everyPage`. */
const more = ({ finishedRun, waitingRun, failedRun }: SeededNames): Shot[] => [
  { name: "run-completed", path: `runs/${finishedRun}?step=charge+card` },
  { name: "run-failed", path: `runs/${failedRun}` },
  {
    name: "complete-signal",
    path: `runs/${waitingRun}`,
    prepare: (page) => page.getByRole("button", { name: "Complete the signal" }).click(),
  },
  { name: "queue-settings", path: "queues/crm-sync", prepare: (page) => page.getByRole("button", { name: "Settings" }).click() },
  { name: "palette", path: "runs", prepare: (page) => page.keyboard.press("Control+k") },
  { name: "shortcuts", path: "runs", prepare: (page) => page.keyboard.press("?") },
];

/** `w/$workspace/queues/$queue` is shown as `queues-one`. */
const nameOf = (pagePath: string): string => pagePath.replace("w/$workspace/", "").replace(/\$\w+/g, "one").replaceAll("/", "-");

const only = process.env.SHOTS?.split(",");

test("pictures of the pages", async ({ dashboard, service }) => {
  const names = await seedWorkspace(service);
  const person = await newPerson(service, { operator: true });
  await service.database.query("update person set name = 'On call', email = 'oncall@example.com' where email = $1", [person.email]);
  await service.database.query("update workspace set name = 'Online shop' where name = 'Test'");
  const pages = everyPage({ ...names }).map(({ page, path: at }) => ({ name: nameOf(page.path), path: at, bare: page.bare ?? false }));
  for (const [folder, theme, width] of [
    ["light", "light", 1280],
    ["dark", "dark", 1280],
    ["narrow", "light", 390],
  ] as const) {
    const into = path.join(INTO, folder);
    mkdirSync(into, { recursive: true });
    const signedIn = await dashboard.open("/", { as: person, theme, width });
    const nobody = await dashboard.open("/sign-in", { as: null, theme, width });
    for (const { name, path: at, bare, prepare } of [...pages, ...more(names)] as Shot[]) {
      if (only && !only.includes(name)) continue;
      const page = bare ? nobody : signedIn;
      await dashboard.goTo(page, at);
      await prepare?.(page);
      await page.waitForTimeout(CHARTS_MS);
      await page.screenshot({ path: path.join(into, `${name}.png`) });
    }
  }
});

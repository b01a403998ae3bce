import type { Page } from "playwright-core";
import { expect } from "vitest";
import { newPerson, PASSWORD } from "../../server/test/harness/people.ts";
import type { Service } from "../../server/test/harness/service.ts";
import { test } from "./harness/dashboard.ts";
import { Keys } from "./harness/keys.ts";

const said = (page: Page, text: string | RegExp) => page.getByRole("status").getByText(text).first().waitFor();
const titled = (page: Page, name: string | RegExp) => page.getByRole("heading", { name, level: 1 }).waitFor();

test("every flow works by keyboard alone, from signing in to signing out", async ({ dashboard, service }) => {
  const failing = await prepare(service);
  const { email } = await newPerson(service);
  const page = await dashboard.open("jobs", { as: null });
  const keys = new Keys(page);
  await page.locator("input[name=email]:focus").waitFor();
  await keys.type(email);
  await keys.press("Tab");
  await keys.type(PASSWORD);
  await keys.press("Enter");
  await titled(page, "Jobs");

  await jobsAndQueues(page, keys, failing);
  await approvalsAndSchedules(page, keys);
  await runs(page, keys);
  await settings(page, keys);

  await keys.button(/^Account of/);
  await page.getByRole("menuitem", { name: "Account" }).and(page.locator(":focus")).waitFor();
  await keys.press("ArrowDown", "Enter");
  await page.locator("input[name=email]:focus").waitFor();
  expect(dashboard.violations).toEqual([]);
});

/** A queue whose handler fails, with dead letters; jobs that wait; approvals; a schedule; and two runs that wait for a signal. */
async function prepare(service: Service): Promise<string> {
  const { queue } = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
  const failed = [await service.enqueue({ queue }), await service.enqueue({ queue })];
  for (const job of failed) await service.untilState(job, "failed");
  await service.ok("POST", "/v1/queues", { name: "pulled" });
  const jobs = [1, 2, 3, 4].map((n) => ({ payload: n }));
  await service.ok("POST", "/v1/queues/pulled/jobs/batch", { jobs });
  await service.ok("POST", "/v1/queues", { name: "asked", type: "approval" });
  await service.ok("POST", "/v1/queues/asked/jobs/batch", { jobs: jobs.slice(0, 2) });
  await service.ok("POST", "/v1/schedules", { name: "nightly", queue: "pulled", cron: "0 3 * * *", timezone: "UTC" });
  await service.ok("PUT", "/v1/workflows/order", { version: "1" });
  for (const signal of ["first", "second"]) {
    await service.ok("POST", "/v1/workflows/order/trigger", {});
    const { runs: taken } = await service.ok("POST", "/v1/work", { worker: "w", version: "1", queues: [], workflows: ["order"], wait: 10 });
    const { runId, lease_token } = taken[0];
    const steps = [{ key: "wait", type: "wait", status: "waiting", signal, timeout: 60_000 }];
    await service.ok("POST", "/v1/work", { worker: "w", queues: [], settle: [{ id: runId, lease_token, outcome: "suspended", steps }] });
  }
  return queue;
}

async function jobsAndQueues(page: Page, keys: Keys, failing: string): Promise<void> {
  // Filter.
  await keys.press("/", "Enter");
  await page.getByRole("menu").locator(":focus").waitFor();
  await keys.press("f");
  await keys.press("Enter", "Escape");
  await page.getByRole("button", { name: "State: failed" }).and(page.locator(":focus")).waitFor();
  // Open one, and retry it.
  await keys.row("Jobs", failing);
  await keys.press("Enter");
  await keys.button("Retry");
  await keys.confirm("Retry this job?");
  await said(page, "The job waits again.");
  // Select three, from one to another.
  await keys.chord("g", "j");
  await keys.row("Jobs", "pulled");
  await keys.press("x");
  await keys.down(2);
  await keys.press("Shift+X");
  await keys.button("3 selected", "Shift+Tab");
  await page.getByRole("menuitem", { name: "Retry…" }).and(page.locator(":focus")).waitFor();
  await keys.press("ArrowDown", "Enter");
  await keys.confirm("Cancel 3 jobs?");
  await said(page, "3 jobs cancelled.");
  // Pause a queue, and change a setting.
  await keys.chord("g", "q");
  await keys.row("Queues", "pulled");
  await keys.press("Enter");
  await keys.button("Pause");
  await said(page, "pulled was paused.");
  await keys.button("Settings");
  await keys.dialog("Settings of pulled");
  await keys.to(page.getByLabel("Jobs at once", { exact: true }));
  await keys.type("5");
  await keys.press("Enter");
  await keys.confirm(/^Change 1 setting/);
  await said(page, "The settings of pulled were saved.");
  await page.getByRole("button", { name: "Settings", exact: true }).and(page.locator(":focus")).waitFor();
  // Retry what failed for the same reason.
  await keys.chord("g", "d");
  // Also from a row, where j goes to the next one.
  await keys.row("Groups of failed jobs", "HTTP_STATUS");
  await keys.chord("g", "j");
  await titled(page, "Jobs");
  await keys.chord("g", "d");
  await keys.button(/^Actions on the group/);
  await page.getByRole("menuitem", { name: "Retry the group…" }).and(page.locator(":focus")).waitFor();
  await keys.press("Enter");
  await keys.confirm(/^Retry \d jobs?\?/);
  await said(page, /jobs? retried\./);
}

async function approvalsAndSchedules(page: Page, keys: Keys): Promise<void> {
  await keys.chord("g", "a");
  const article = page.getByRole("article");
  let decided = "";
  for (const [key, dialog, done] of [
    ["a", "Approve this job?", "approved"],
    ["r", "Reject this job?", "rejected"],
  ] as const) {
    // The next job opens by itself. Until then, keys are for the one that was decided.
    if (decided) await page.getByRole("article", { name: decided }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Approve", exact: true, disabled: false }).waitFor();
    decided = (await article.getAttribute("aria-label")) ?? "";
    await keys.press(key);
    await keys.dialog(dialog);
    await keys.type("Seen");
    await keys.press("Enter");
    await said(page, `The job of asked is ${done}.`);
  }
  await keys.chord("g", "s");
  await keys.row("Schedules", "nightly");
  await keys.press("Enter");
  await keys.button("Run now");
  await said(page, /^nightly has enqueued/);
  await keys.button("Pause");
  await said(page, /^nightly is paused/);
}

async function runs(page: Page, keys: Keys): Promise<void> {
  await keys.chord("g", "r");
  await keys.row("Runs", "order");
  await keys.press("Enter");
  await keys.button("Complete the signal");
  await keys.dialog("Complete second");
  await keys.type('{"ok":true}');
  await keys.button("Complete");
  await said(page, "The signal second is completed.");
  await keys.chord("g", "r");
  await keys.row("Runs", "order");
  await keys.down(1);
  await keys.press("Enter");
  await keys.button("Cancel");
  await keys.confirm("Cancel this run?");
  await said(page, "The run is cancelled.");
}

async function settings(page: Page, keys: Keys): Promise<void> {
  await keys.goTo("secr", "Secrets");
  await keys.button("New secret");
  await keys.dialog("New secret");
  await keys.type("TOKEN");
  await keys.press("Tab");
  await keys.type("a value");
  await keys.press("Enter");
  await said(page, "The secret is stored.");
  await keys.goTo("api k", "API keys");
  await keys.button("New key");
  await keys.dialog("New key");
  await keys.type("deploy");
  await keys.press("Enter");
  await keys.dialog("The key deploy");
  await keys.button("I have stored it");
  await page.getByRole("button", { name: "New key" }).and(page.locator(":focus")).waitFor();
  await keys.goTo("webh", "Webhooks");
  await keys.button("New webhook");
  await keys.dialog("New webhook");
  await keys.type("ops");
  await keys.press("Tab");
  await keys.type("https://example.com/hook");
  await keys.press("Enter");
  await keys.dialog("The secret of the webhook");
  await keys.button("I have stored it");
  await titled(page, "ops");
}

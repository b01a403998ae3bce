import type { Locator } from "playwright-core";
import { describe, expect } from "vitest";
import { newPerson, PASSWORD } from "../../server/test/harness/people.ts";
import { answerForNow } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

test("somebody on call signs in, finds a failing job, sees why, mends the queue's address, retries the group and watches it drain", async ({
  dashboard,
  service,
}) => {
  const broken = await service.handler({ answers: 410, defaultJobOptions: { attempts: 1 } });
  const mended = await service.handler({ answers: 200 });
  const { jobs } = await service.ok(
    "POST",
    `/v1/queues/${broken.queue}/jobs/batch`,
    [1, 2, 3].map((n) => ({ payload: { order: n, big: 1 }, tag: "receipt" })),
  );
  for (const { id } of jobs) await service.untilState({ id, queue: broken.queue }, "failed");

  const person = await newPerson(service);
  const page = await dashboard.open("jobs", { as: null });
  await page.locator("input[name=email]").fill(person.email);
  await page.locator("input[name=password]").fill(PASSWORD);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
  await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: jobs[2].id }).waitFor();
  await page.getByRole("button", { name: /^State/ }).click();
  await page.getByRole("menuitemcheckbox", { name: "failed" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: jobs[2].id }).click();
  await page.getByRole("note").getByText("HTTP_STATUS 410").waitFor();
  await page.locator("dd", { hasText: broken.url }).waitFor();
  await page.getByText(`"order"`).waitFor();
  await expect.poll(() => page.getByRole("listitem").getByText("HTTP 410").count()).toBe(1);

  await page.getByRole("link", { name: broken.queue }).click();
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Callback URL").fill(mended.url);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page
    .getByRole("dialog", { name: /Change 1 setting / })
    .getByRole("button", { name: "Save" })
    .click();
  await page.getByText(`The settings of ${broken.queue} were saved.`).waitFor();

  await page.getByRole("link", { name: "Dead letters" }).click();
  const group = page.getByRole("grid", { name: "Groups of failed jobs" }).getByRole("row").filter({ hasText: "HTTP_STATUS 410" });
  await group.getByRole("gridcell", { name: "3", exact: true }).waitFor();
  await group.getByRole("link", { name: "HTTP_STATUS 410" }).click();
  await page.getByRole("button", { name: /^Clear the filter Same error: HTTP_STATUS/ }).waitFor();
  await page.goBack();
  await group.getByRole("button", { name: /^Actions on the group/ }).click();
  await page.getByRole("menuitem", { name: "Retry the group…" }).click();
  await page.getByRole("dialog", { name: "Retry 3 jobs?" }).getByRole("button", { name: "Retry" }).click();
  await page.getByRole("status").getByText("3 jobs retried.").waitFor();
  for (const { id } of jobs) await service.untilState({ id, queue: broken.queue }, "completed");
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.getByRole("grid", { name: "Jobs" }).getByText("completed").nth(2).waitFor();
  await page.getByRole("grid", { name: "Jobs" }).getByRole("link", { name: jobs[2].id }).click();
  await page.locator("dd", { hasText: mended.url }).waitFor();
  await page.getByRole("note").waitFor({ state: "detached" });
  expect(dashboard.violations).toEqual([]);
});

/** Whether the whole of a text is seen, not cut off by what it stands in. */
const isWhole = (text: Locator) =>
  text.evaluate((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const { left, right } = range.getBoundingClientRect();
    const cell = (element.closest("[role=gridcell]") ?? element).getBoundingClientRect();
    return left >= cell.left - 1 && right <= cell.right + 1 && right <= innerWidth;
  });

test("on a telephone, lists show the whole id of a job, its state, what failed and when, and groups their message", async ({
  dashboard,
  service,
}) => {
  const { queue } = await service.handler({ answers: { status: 410, body: "this order was closed" }, defaultJobOptions: { attempts: 1 } });
  const job = await service.enqueue({ queue });
  await service.untilState(job, "failed");
  const page = await dashboard.open("jobs", { width: 390 });
  const row = page.getByRole("grid", { name: "Jobs" }).getByRole("row").nth(1);
  const whole = (text: Locator) => expect.poll(() => isWhole(text)).toBe(true);
  await whole(row.getByText(job.id));
  await whole(row.getByText("failed", { exact: true }));
  for (const text of ["this order was closed", "now"]) await expect.poll(() => row.getByText(text).isVisible()).toBe(true);
  await dashboard.goTo(page, "dead-letters");
  const group = page.getByRole("grid", { name: "Groups of failed jobs" }).getByRole("row").nth(1);
  await whole(group.getByText("HTTP_STATUS 410"));
  await whole(group.getByText("this order was closed"));
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  // No list is cut off at its side, nor that with most columns on a wide window.
  const overflow = () =>
    page.getByRole("grid").evaluateAll((grids) => grids.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  for (const path of ["keys", "members", "audit", "queues"]) {
    await dashboard.goTo(page, path);
    await page.getByRole("row").nth(1).waitFor();
    await expect.poll(overflow, { message: path }).toEqual([0]);
  }
  await dashboard.goTo(page, `jobs/${job.id}`);
  const copy = page.getByRole("button", { name: "Copy the job's id" });
  const isBesideId = () =>
    copy.evaluate((button, id) => {
      const [line] = [...document.querySelectorAll("code")].filter(({ textContent }) => textContent === id);
      return line !== undefined && line.getBoundingClientRect().bottom > button.getBoundingClientRect().top;
    }, job.id);
  await expect.poll(isBesideId).toBe(true);
  await dashboard.goTo(page, "queues");
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("columnheader", { name: "Oldest" }).waitFor();
  await expect.poll(overflow).toEqual([0]);
});

describe("the list of jobs", () => {
  test("the list of jobs is filtered by the address, and says how far a search got", async ({ dashboard, service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, payload: { to: "ada" }, tag: "a" });
    await service.enqueue({ queue, payload: { to: "alan" }, tag: "b" });
    const page = await dashboard.open("jobs?payload_contains=ada");
    await page.getByRole("grid", { name: "Jobs" }).getByText("a", { exact: true }).waitFor();
    await expect.poll(() => page.getByRole("grid", { name: "Jobs" }).getByRole("row").count()).toBe(2);
    expect(await dashboard.axe(page)).toEqual([]);
    const searchOn = await answerForNow(page, "**/v1/jobs?*", {
      json: { data: [], next_cursor: "job_01kajv3k4ve6nsd9z5kgtzx0rw", searched_until: "2026-11-20T12:00:00.000Z" },
    });
    await page.getByRole("textbox", { name: "Part of the payload" }).fill("nobody");
    await page.getByRole("heading", { name: "Nothing found so far" }).waitFor();
    await page.getByText("Searched back to 2026-11-20").waitFor();
    searchOn();
    await page.getByRole("button", { name: "Search on" }).click();
    await page.getByRole("heading", { name: "No job matches these filters" }).waitFor();
    await dashboard.goTo(page, "jobs?last=two+years");
    await page.getByRole("alert").getByText("created_after must be").waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("selected jobs are cancelled, and all that match are retried, with their count to confirm and their progress", async ({
    dashboard,
    service,
  }) => {
    const queue = await service.queue();
    const jobs: { id: string; queue: string }[] = [];
    for (let n = 0; n < 5; n += 1) jobs.push(await service.enqueue({ queue, payload: n }));
    const page = await dashboard.open("jobs");
    // From the newest to the one before the oldest.
    await page.getByRole("checkbox", { name: `Select ${jobs[4]?.id}` }).click();
    await page.getByRole("checkbox", { name: `Select ${jobs[1]?.id}` }).click({ modifiers: ["Shift"] });
    await page.getByRole("button", { name: "4 selected" }).click();
    await page.getByRole("menuitem", { name: "Cancel…" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 4 jobs?" });
    await dialog.waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).last().click();
    await page.getByRole("status").getByText("4 jobs cancelled.").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "All that match" }).click();
    await page.getByRole("menuitem", { name: "Retry…" }).click();
    await page.getByRole("dialog", { name: "Retry 4 jobs?" }).getByRole("button", { name: "Retry" }).click();
    await page.getByRole("status").getByText("4 jobs retried.").waitFor();
    expect(await service.jobStates()).toEqual({ waiting: 5 });
    expect(dashboard.violations).toEqual([]);
  });

  test("an operation that is gone is said to be so, and not asked for again by itself", async ({ dashboard }) => {
    const id = "op_01kajv3k4ve6nsd9z5kgtzx0rw";
    const page = await dashboard.open("workers");
    const operation = { id, action: "retry", state: "running", matched: 9, matched_exact: true, done: 4, skipped: 0 };
    const remove = await answerForNow(page, `**/v1/operations/${id}`, { json: operation });
    await dashboard.walkTo(page, `jobs?operation=${id}`);
    await page.getByRole("status").getByText("Retrying: 4 of 9.").waitFor();
    remove();
    await page.clock.runFor(1_000);
    await page.getByRole("alert").getByText("Could not load the operation").waitFor();
    dashboard.requests.length = 0;
    await page.clock.runFor(5_000);
    expect(dashboard.requests.filter((url) => url.includes("/operations/"))).toEqual([]);
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => dashboard.requests.filter((url) => url.includes("/operations/")).length).toBe(1);
    expect(dashboard.violations).toEqual([]);
  });

  test("rows are selected from the last selected one also if both keys come before the list is drawn again", async ({
    dashboard,
    service,
  }) => {
    const queue = await service.queue();
    for (let n = 0; n < 4; n += 1) await service.enqueue({ queue, payload: n });
    const page = await dashboard.open("jobs");
    await page.locator("[data-row='3']").waitFor();
    await page.locator("[data-row='0']").evaluate((first) => {
      first.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true }));
      const last = document.querySelector("[data-row='3'] input");
      last?.dispatchEvent(new MouseEvent("click", { shiftKey: true, bubbles: true, cancelable: true }));
    });
    await page.getByRole("button", { name: "4 selected" }).waitFor();
  });

  test("who may only read sees jobs, and nothing that changes them", async ({ dashboard, service }) => {
    const job = await service.enqueue({ queue: await service.queue() });
    const page = await dashboard.open("jobs", { as: await newPerson(service, { role: "read" }) });
    await page.getByRole("link", { name: job.id }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "All that match" }).count()).toBe(0);
    await page.getByRole("link", { name: job.id }).click();
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Copy as curl" }).waitFor();
    await expect.poll(() => page.getByRole("menuitem", { name: /Run again/ }).count()).toBe(0);
    expect(dashboard.violations).toEqual([]);
  });
});

describe("a job", () => {
  test("a job says why it is not running and what would open each gate, and keeps every digit of its payload", async ({
    dashboard,
    service,
  }) => {
    const queue = await service.queue({ paused: true });
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs`, `{"payload":{"n":12345678901234567890}}`);
    const page = await dashboard.open(`jobs/${reply.body.id}`);
    const why = page.getByRole("region", { name: "Why it is not running" });
    await why.getByText("Resume the queue.").waitFor();
    await why.getByText("Set the queue's callback_url, or start a worker for it.").waitFor();
    await page.getByText("12345678901234567890").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Run again, changed…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Payload" }).fill(`{"n":98765432109876543210}`);
    await dialog.getByRole("textbox", { name: "Tag" }).fill("again");
    expect(await dashboard.axe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Enqueue" }).click();
    await page.getByRole("link", { name: "again", exact: true }).waitFor();
    await page.getByText("98765432109876543210").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("cancelled", { exact: true }).first().waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("a job in each state says why it has no result, and a failed one with what it failed", async ({ dashboard, service }) => {
    const failing = await service.handler({ answers: 410, defaultJobOptions: { attempts: 1 } });
    const hanging = await service.handler({ answers: "hang" });
    const quiet = await service.handler({ answers: 200 });
    const paused = await service.queue({ paused: true });
    const approved = await service.queue({
      type: "approval",
      approval: { timeout: 60, on_timeout: "reject" },
      callback_url: "http://127.0.0.1:9/callback",
    });
    const put = (queue: string, more: object = {}) => service.enqueue({ queue, ...more });
    const cancelled = await put(paused);
    await service.ok("DELETE", `/v1/queues/${paused}/jobs/${cancelled.id}`);
    const failed = await put(failing.queue);
    await service.untilState(failed, "failed");
    const completed = await put(quiet.queue);
    await service.untilState(completed, "completed");
    const active = await put(hanging.queue);
    await service.untilState(active, "active");
    const cases = [
      [await put(paused), "None yet: the job waits to start."],
      [await put(paused, { delay: 60 }), "None yet: the job is not due."],
      [await put(approved), "None yet: the job waits for an approval."],
      [active, "None yet: attempt 1 is under way."],
      [failed, /^None: the job failed with HTTP_STATUS: /],
      [cancelled, "None: the job was cancelled."],
      [completed, "The handler returned nothing."],
    ] as const;
    const page = await dashboard.open(`jobs/${failed.id}`);
    for (const [{ id }, says] of cases) {
      await dashboard.goTo(page, `jobs/${id}`);
      await page.getByText(says).waitFor();
    }
    // The reason is given once, and not again beside what opens the only gate.
    await dashboard.goTo(page, `jobs/${cases[2][0].id}`);
    await page.getByRole("heading", { name: approved, level: 1 }).waitFor();
    const why = page.getByRole("region", { name: "Why it is not running" });
    await why.getByRole("link", { name: "Open the approvals" }).waitFor();
    await expect.poll(() => why.getByText("has waited for approval").count()).toBe(1);
    hanging.release();
    expect(dashboard.violations).toEqual([]);
  });

  test("a job that is not there is said to be missing, and not an error", async ({ dashboard }) => {
    const page = await dashboard.open("jobs/job_01kajv3k4ve6nsd9z5kgtzx0rw");
    await page.getByRole("heading", { name: "There is no such job" }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });
});

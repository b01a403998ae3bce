import { describe, expect } from "vitest";
import { newPerson } from "../../server/test/harness/people.ts";
import { test } from "./harness/dashboard.ts";

const approvals = { type: "approval", approval: { timeout: 7_200, on_timeout: "reject" } };

describe("approvals", () => {
  test("show what waits, how it differs from the one before, and take decisions by keyboard", async ({ dashboard, service }) => {
    const queue = await service.queue(approvals);
    const before = await service.enqueue({
      queue,
      tag: "weekly",
      payload: { amount: 12, to: ["ada"], note: "<img src=x onerror=alert(1)>" },
    });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${before.id}/approve`, { by: "bob" });
    const job = await service.enqueue({
      queue,
      tag: "weekly",
      payload: { amount: 12_000, to: ["ada"], note: "<img src=x onerror=alert(1)>" },
    });
    const page = await dashboard.open("approvals");
    const detail = page.getByRole("article", { name: `Job ${job.id}` });
    await detail.getByText(/^rejected in \d/).waitFor();
    await page.getByRole("region", { name: "Jobs that wait for a decision" }).getByText('"amount":12000').first().waitFor();
    const difference = detail.getByRole("region", { name: "Difference", exact: true });
    for (const line of ['−   "amount": 12,', '+   "amount": 12000,']) await difference.getByText(line, { exact: true }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByLabel("Reason").and(page.locator(":focus")).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.keyboard.type("Too");
    // It ends the composition of a character, as in Japanese.
    await page.locator(":focus").dispatchEvent("keydown", { key: "Enter", isComposing: true });
    await page.keyboard.type(" much.");
    await page.keyboard.press("Enter");
    await page.getByText(`The job of ${queue} is rejected.`).waitFor();
    expect(await service.job(job)).toMatchObject({
      state: "rejected",
      approval: { comment: "Too much.", by: expect.stringContaining("@") },
    });
    await page.getByText("decided", { exact: true }).waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("open the job of a link, also one that is decided or far down, and no other in its place", async ({ dashboard, service }) => {
    const [queue, other] = [await service.queue(approvals), await service.queue(approvals)];
    const decided = await service.enqueue({ queue });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${decided.id}/approve`, { by: "bob", comment: "Looks right" });
    const page = await dashboard.open(`approvals?job=${decided.id}`);
    await page
      .getByRole("article", { name: `Job ${decided.id}` })
      .getByText("It was approved by bob")
      .waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);

    const oldest = await service.enqueue({ queue });
    await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, { jobs: Array.from({ length: 100 }, (_, n) => ({ payload: n })) });
    await dashboard.goTo(page, `approvals?job=${oldest.id}`);
    await page.getByRole("article", { name: `Job ${oldest.id}` }).waitFor();
    await page.keyboard.press("a");
    await page.getByRole("dialog", { name: "Approve this job?" }).locator(":focus").waitFor();
    await page.keyboard.press("Enter");
    await page.getByText(`The job of ${queue} is approved.`).waitFor();
    expect((await service.job(oldest)).approval).toMatchObject({ decision: "approved" });
    // The next one opens.
    await page.getByRole("button", { name: "Approve", disabled: false }).waitFor();

    const { id } = await service.enqueue({ queue: other });
    await page.getByRole("search", { name: "Filters" }).getByLabel("Queue").fill(other);
    await page.getByRole("article", { name: `Job ${id}` }).waitFor();

    await dashboard.goTo(page, `approvals?job=job_${"0".repeat(26)}`);
    await page.getByText("There is no such job").waitFor();
    await expect.poll(() => page.getByRole("article").count()).toBe(0);
  });

  test("say that somebody else has decided meanwhile", async ({ dashboard, service }) => {
    const queue = await service.queue(approvals);
    const job = await service.enqueue({ queue });
    const page = await dashboard.open("workers");
    // A stream that is open already would go on.
    await page.route("**/v1/live", (route) => route.abort());
    await dashboard.goTo(page, "approvals");
    await page.getByRole("button", { name: "Approve" }).click();
    await service.ok("POST", `/v1/queues/${queue}/jobs/${job.id}/approve`, { by: "bob", comment: "Looks right" });
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByText("Somebody else has decided meanwhile").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText("It was approved by bob").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
  });
});

describe("schedules", () => {
  test("are created, show their times with changes of the clocks, are changed with a look at the difference, paused, triggered and deleted", async ({
    dashboard,
    service,
  }) => {
    const queue = await service.queue();
    const page = await dashboard.open("schedules");
    await page.getByRole("button", { name: "Create a schedule" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("nightly");
    await dialog.getByLabel("Queue").fill(queue);
    await dialog.getByLabel("Pattern").fill("61 2 * * *");
    await dialog.getByText("cron", { exact: false }).first().waitFor();
    await dialog.getByLabel("Pattern").fill("30 2 * * *");
    await dialog.getByLabel("Time zone").selectOption("Europe/Berlin");
    await dialog.getByText("At 02:30, every day.").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await dialog.getByLabel("Payload").fill('{"n":12345678901234567890}');
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "nightly", level: 1 }).waitFor();
    expect((await service.api("GET", "/v1/schedules/nightly")).text).toContain('{"n":12345678901234567890}');
    await page.getByText("2026-11-22 02:30:00 CET").first().waitFor();
    await page.getByText("2026-11-22 01:30:00 UTC").waitFor();
    const calendar = page.getByRole("table", { name: "Runs in 2026-11" });
    await calendar.getByText("02:30", { exact: true }).first().waitFor();
    await expect.poll(() => calendar.getByText("02:30", { exact: true }).count()).toBe(30);
    await expect.poll(() => calendar.locator("[data-past]").count()).toBe(20);
    await expect.poll(() => page.getByRole("button", { name: "Previous month" }).isDisabled()).toBe(true);
    await page.getByText("No tick was skipped.", { exact: false }).waitFor();
    const later = page.getByRole("button", { name: "Next month" });
    for (let month = 0; month < 4; month++) await later.click();
    await page.getByText("On 2027-03-28 the clocks go forward: the times 02:00–03:00 do not exist.", { exact: false }).waitFor();
    await page.getByText("gap 02:00–03:00").waitFor();
    await page.getByRole("row", { name: /28.*03:00.*gap/ }).waitFor();
    await expect.poll(() => page.getByRole("table", { name: "Runs in 2027-03" }).getByText("02:30", { exact: true }).count()).toBe(30);
    await service.database.query(
      `insert into schedule_skip (workspace_id, schedule_id, first_at, last_at, reason)
       select workspace_id, id, '2026-11-19T01:30:00Z', '2026-11-20T01:30:00Z', 'overlap' from schedule where name = 'nightly'`,
    );

    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await page.getByRole("button", { name: "Run now" }).click();
    await page.getByText("nightly has enqueued job_", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog").getByLabel("Pattern").fill("0 3 * * *");
    await page.getByRole("button", { name: "Review the changes" }).click();
    await page.getByRole("dialog").getByRole("row", { name: "cron 30 2 * * * 0 3 * * *" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("nightly is changed.").waitFor();
    const skipped = page.getByRole("region", { name: "Skipped ticks" });
    await skipped
      .getByRole("row", { name: /2026-11-19 02:30:00.*2026-11-20 02:30:00.*An earlier job of the schedule had not finished/ })
      .waitFor();
    await page.getByRole("table", { name: "Runs in 2027-03" }).getByText("03:00", { exact: true }).nth(30).waitFor();
    expect(await service.ok("GET", "/v1/schedules/nightly")).toMatchObject({ cron: "0 3 * * *", state: "paused" });

    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByLabel("Type nightly to confirm").fill("nightly");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There is no schedule yet").waitFor();
    expect(dashboard.violations).toEqual([]);
  });
});

test("usage shows executions by day and queue, and those that are left", async ({ dashboard, service }) => {
  const queue = await service.queue();
  await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, [{ payload: 1 }, { payload: 2 }]);
  await service.database.query(
    "update workspace set executions_per_month = 1000 where id = (select workspace_id from api_key where hash = sha256($1::text::bytea))",
    [service.key],
  );
  const page = await dashboard.open("usage");
  await page.getByText("2 of 1,000 executions").waitFor();
  await page.getByRole("row", { name: new RegExp(`^${queue} 2`) }).waitFor();
  await page.getByRole("row", { name: /^2026-11-21 2/ }).waitFor();
  await page.getByRole("button", { name: "Previous month" }).click();
  await page.getByText("Nothing was executed in this month").waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get("period")).toBe("2026-10");
});

describe("the audit log", () => {
  test("is verified in the browser, and says where it was changed", async ({ dashboard, service }) => {
    for (let at = 0; at < 130; at++) await service.ok("POST", "/v1/secrets", { name: `S_${at}`, value: "a value" });
    const page = await dashboard.open("audit");
    await page.getByRole("button", { name: "secret.created" }).first().click();
    await page.getByText("matches what is shown here.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Verify the chain" }).click();
    await page.getByText("the chain is unbroken, from its beginning", { exact: false }).waitFor();

    await page.route("**/v1/audit-events*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace('"resource_id":"S_7"', '"resource_id":"S_X"') });
    });
    await page.getByRole("button", { name: "Verify the chain" }).click();
    await page.getByText(/The chain is broken at event \d+\. Its fields differ/).waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("has filters that stand in the address, and names people and keys", async ({ dashboard, service }) => {
    const admin = await newPerson(service);
    const key = await service.ok("POST", "/v1/keys", { name: "Deploys", role: "write" });
    const gone = await service.ok("POST", "/v1/keys", { name: "Of yesterday", role: "write" });
    await service.api("POST", "/v1/queues", { name: "by-key" }, { authorization: `Bearer ${key.key}` });
    await service.api("POST", "/v1/queues", { name: "by-gone" }, { authorization: `Bearer ${gone.key}` });
    await service.ok("DELETE", `/v1/keys/${gone.id}`);
    await admin.api(service.workspaceId, "POST", "/v1/queues", { name: "by-person" });
    const page = await dashboard.open("audit?resource_type=queue", { as: admin });
    const events = page.getByRole("grid", { name: "Audit events" });
    const row = (queue: string) => events.getByRole("row").filter({ hasText: queue });
    await row("by-key").getByText("Deploys (key)").waitFor();
    await row("by-gone").getByText(gone.id).waitFor();
    await row("by-person").getByText("A person (you)").waitFor();
    // Two lists for all rows. They may be asked for again, when the keys have changed.
    await expect.poll(() => new Set(dashboard.requests.filter((url) => /\/v1\/(keys|members)\b/.test(url))).size).toBe(2);
    await row("by-key").getByRole("button", { name: "queue.created" }).click();
    await page.getByRole("dialog").getByText(`Deploys (key) ${key.id}`).waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("button", { name: "key.created" }).count()).toBe(0);
  });
});

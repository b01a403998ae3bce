import { describe, expect } from "vitest";
import { limitedTo } from "../../server/test/harness/limits.ts";
import { newPerson } from "../../server/test/harness/people.ts";
import { type Service, until } from "../../server/test/harness/service.ts";
import { test } from "./harness/dashboard.ts";

/** Lets the circuit of a queue open. */
async function withOpenCircuit(service: Service): Promise<string> {
  const { queue } = await service.handler({ answers: 503, defaultJobOptions: { attempts: 1 } });
  await service.ok(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    Array.from({ length: 20 }, () => ({ payload: {} })),
  );
  await until(async () => (await service.ok("GET", `/v1/queues/${queue}`)).circuit.state === "open", "the circuit to open");
  return queue;
}

describe("the overview", () => {
  test("shows what needs attention, and is not ok while a circuit is open", async ({ dashboard, service }) => {
    const queue = await withOpenCircuit(service);
    const approvals = await service.queue({ type: "approval" });
    await service.enqueue({ queue: approvals });
    await service.ok("POST", "/v1/deploys", { name: "shop", version: "v214" });
    const page = await dashboard.open("/account");
    // As Chromium has it where LANG is C. Intl does not know it.
    await page.addInitScript(() => Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true }));
    await dashboard.goTo(page, "overview");
    await page.getByText("degraded", { exact: true }).waitFor();
    await expect.poll(() => page.getByText("All checks passed").count()).toBe(0);
    await page.getByRole("alert").getByText(`Circuits are open: ${queue}.`).waitFor();
    const tile = (name: string) => page.locator("dl > div").filter({ has: page.getByText(name, { exact: true }) });
    await tile("Open circuits").getByRole("link", { name: queue }).waitFor();
    await expect.poll(() => tile("Approvals pending").locator("dd").first().textContent()).toBe("1");
    const charts = page.getByRole("figure");
    await charts.locator("canvas").nth(3).waitFor();
    await expect.poll(() => charts.first().getAttribute("aria-label")).toContain("Enqueued: last 21");
    const changes = page.getByRole("region", { name: "What changed" });
    await changes.getByText("shop v214").waitFor();
    await changes.getByText(`${queue}: circuit opened`).waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    await page.getByText("24 hours").click();
    await until(() => page.url().includes("range=24h"), "the range to stand in the address");
    expect(dashboard.violations).toEqual([]);
  });

  test("says that a workspace without troubles is well", async ({ dashboard }) => {
    const page = await dashboard.open("overview");
    await page.getByText("All checks passed").waitFor();
    await page.getByText("Nothing was deployed, paused or changed in this period.").waitFor();
  });
});

describe("queues", () => {
  test("are listed with what is in them and why nothing moves", async ({ dashboard, service }) => {
    const open = await withOpenCircuit(service);
    const unserved = await service.queue();
    await service.enqueue({ queue: unserved });
    const paused = await service.queue({ paused: true });
    const page = await dashboard.open("queues");
    const row = (name: string) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
    await row(open).getByText("circuit open").waitFor();
    await row(unserved).getByText("nobody takes these jobs").waitFor();
    await row(paused).getByText("paused", { exact: true }).waitFor();
    await row(unserved).click();
    await page.getByRole("heading", { name: unserved, level: 1 }).waitFor();
    await page.getByRole("alert").getByText("no worker has asked for it").waitFor();
    expect(await dashboard.axe(page)).toEqual([]);
    expect(dashboard.violations).toEqual([]);
  });

  test("are created with a secret that is shown once, paused, changed after a look at what changes, and deleted", async ({
    dashboard,
    service,
  }) => {
    const page = await dashboard.open("queues", { theme: "dark" });
    await page.getByRole("button", { name: "Create a queue" }).first().click();
    await page.getByLabel("Name").fill("emails");
    await page.getByLabel("Callback URL").fill("http://127.0.0.1:9/callback");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const secret = page.locator("output[aria-label='The callback secret of emails']");
    const first = await secret.textContent();
    expect(first).toMatch(/^cbs_/);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("heading", { name: "emails", level: 1 }).waitFor();

    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("alert").getByText("The queue is paused").waitFor();

    await page.getByRole("button", { name: "Enqueue a job" }).click();
    await page.getByLabel("Payload").fill("{ ");
    await expect.poll(() => page.getByRole("button", { name: "Enqueue", exact: true }).isDisabled()).toBe(true);
    await page.getByLabel("Payload").fill('{"id":12345678901234567890}');
    await page.getByRole("button", { name: "Enqueue", exact: true }).click();
    await page.getByText(/^job_\w+ was enqueued/).waitFor();
    const [stored] = await service.database.query<{ payload: string }>(
      "select payload from job j join lane l on l.id = j.lane_id where l.name = 'emails'",
    );
    expect(stored?.payload).toContain("12345678901234567890");

    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Jobs at once", { exact: true }).fill("7");
    await page.getByLabel("Attempts").fill("0");
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: /Change 2 settings/ });
    await dialog.getByRole("row", { name: "Jobs at once none 7" }).waitFor();
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("attempts").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByLabel("Attempts").fill("3");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page
      .getByRole("dialog", { name: /Change 1 setting / })
      .getByRole("button", { name: "Save" })
      .click();
    await page.getByText("The settings of emails were saved.").waitFor();
    expect(await service.ok("GET", "/v1/queues/emails")).toMatchObject({ concurrency: 7, paused: true, callback_url: expect.any(String) });

    await page.getByRole("button", { name: "Rotate the secret" }).click();
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const second = await secret.textContent();
    expect(second).toMatch(/^cbs_/);
    expect(second).not.toBe(first);
    await page.getByRole("button", { name: "I have stored it" }).click();

    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const confirm = page.getByRole("dialog", { name: "Delete the queue emails?" });
    await expect.poll(() => confirm.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    await confirm.getByLabel("Type emails to confirm").fill("emails");
    expect(await dashboard.axe(page)).toEqual([]);
    await confirm.getByRole("button", { name: "Delete" }).click();
    await page.getByText("There is no queue yet").waitFor();
    expect(dashboard.violations).toEqual([]);
  });

  test("have forms that close when the page of another queue is shown", async ({ dashboard, service }) => {
    const other = await service.queue();
    const queue = await service.queue();
    const page = await dashboard.open("queues");
    await page.getByRole("link", { name: other }).click();
    await page.getByRole("button", { name: "Settings" }).waitFor();
    await page.getByRole("navigation", { name: "Up" }).getByRole("link", { name: "Queues" }).click();
    await page.getByRole("link", { name: queue }).click();
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Callback URL").fill("http://127.0.0.1:9/typed");
    await page.evaluate(() => history.go(-2));
    await page.getByRole("heading", { name: other, level: 1 }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator("main:focus").waitFor();
    await page.getByRole("button", { name: "Settings" }).click();
    await expect.poll(() => page.getByLabel("Callback URL").inputValue()).toBe("");
    expect(dashboard.violations).toEqual([]);
  });

  test("say before they are saved what somebody else has changed meanwhile", async ({ dashboard, service }) => {
    const queue = await service.queue({ callback_url: "http://127.0.0.1:9/before" });
    const page = await dashboard.open(`queues/${queue}`);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Callback URL").fill("http://127.0.0.1:9/mine");
    await service.ok("PATCH", `/v1/queues/${queue}`, { callback_url: "http://127.0.0.1:9/theirs", callback_timeout: 7 });
    await page.locator("dd", { hasText: /^7 s$/ }).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Review changes" }).click();
    const dialog = page.getByRole("dialog", { name: /Change 1 setting / });
    await dialog.getByRole("alert").getByText("Somebody has changed this since you opened the form: Callback URL.").waitFor();
    await dialog.getByText("http://127.0.0.1:9/theirs").waitFor();
  });

  test("change one part of a limit, and leave the other that somebody else has changed meanwhile", async ({ dashboard, service }) => {
    const approval = { timeout: 60, on_timeout: "reject" };
    const queue = await service.queue({ type: "approval", approval, rate_limit: { max: 5, per_seconds: 10 } });
    const page = await dashboard.open(`queues/${queue}`);
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Starts at most").fill("7");
    await page.getByLabel("Approval time-out (s)").fill("90");
    await service.ok("PATCH", `/v1/queues/${queue}`, { rate_limit: { per_seconds: 20 }, approval: { on_timeout: "approve" } });
    await page.getByRole("button", { name: "Review changes" }).click();
    await page
      .getByRole("dialog", { name: /Change 2 settings / })
      .getByRole("button", { name: "Save" })
      .click();
    await page.getByText(`The settings of ${queue} were saved.`).waitFor();
    expect(await service.ok("GET", `/v1/queues/${queue}`)).toMatchObject({
      rate_limit: { max: 7, per_seconds: 20 },
      approval: { timeout: 90, on_timeout: "approve" },
    });
  });

  test("refuse a number that has more than digits, which as a limit would be sent as none", async ({ dashboard, service }) => {
    const queue = await service.queue({ type: "approval", approval: { timeout: 60, on_timeout: "reject" }, concurrency: 5 });
    const page = await dashboard.open(`queues/${queue}`);
    await page.getByRole("button", { name: "Settings" }).click();
    const review = page.getByRole("button", { name: "Review changes" });
    for (const [label, wrong, right] of [
      ["Jobs at once", "1,000", "1000"],
      ["Approval time-out (s)", "24h", "86400"],
      ["Wait before the second attempt (ms)", "", "2000"],
    ] as const) {
      const field = page.getByLabel(label, { exact: true });
      await field.fill(wrong);
      await expect.poll(() => review.isDisabled()).toBe(true);
      await page.getByText("Enter a whole number in digits, like 1000.").waitFor();
      await field.fill(right);
      await expect.poll(() => review.isDisabled()).toBe(false);
    }
    await review.click();
    await page
      .getByRole("dialog", { name: /Change 3 settings / })
      .getByRole("button", { name: "Save" })
      .click();
    await page.getByText(`The settings of ${queue} were saved.`).waitFor();
    expect(await service.ok("GET", `/v1/queues/${queue}`)).toMatchObject({
      concurrency: 1000,
      approval: { timeout: 86_400 },
      defaultJobOptions: { backoff: { delay: 2000 } },
    });
  });

  test("of a plan without callbacks say so in words, and a reader sees no buttons", async ({ dashboard, service }) => {
    const free = await limitedTo(service, {}, "free");
    const queue = await free.queue();
    const page = await dashboard.open(`/w/${free.workspaceId}/queues`, { as: await newPerson(free) });
    await page.getByRole("button", { name: "Create a queue" }).click();
    await page.getByLabel("Name").fill("called");
    await page.getByLabel("Callback URL").fill("https://example.com/");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("The plan free does not have callbacks.").waitFor();
    const reader = await dashboard.open(`/w/${free.workspaceId}/queues/${queue}`, { as: await newPerson(free, { role: "read" }) });
    await reader.getByRole("heading", { name: queue, level: 1 }).waitFor();
    await reader.getByRole("main").getByRole("region", { name: "Settings" }).waitFor();
    await expect.poll(() => reader.getByRole("button", { name: "Delete" }).count()).toBe(0);
  });
});

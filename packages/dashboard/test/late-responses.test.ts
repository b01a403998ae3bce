import type { Page } from "playwright-core";
import { expect, type TestContext } from "vitest";
import { Handler } from "../../server/test/harness/handler.ts";
import { newPerson, PASSWORD } from "../../server/test/harness/people.ts";
import { type Service, until } from "../../server/test/harness/service.ts";
import { putWorkflow } from "../../server/test/harness/workflows.ts";
import { hold } from "./harness/answer.ts";
import { test } from "./harness/dashboard.ts";

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name, level: 1 }).waitFor();
const click = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

/** Makes the webhook "alerts" and has a test event delivered to it. Returns the path of the delivery's page. */
async function deliverTestEvent(service: Service, onTestFinished: TestContext["onTestFinished"]): Promise<string> {
  const receiver = await Handler.listen(200);
  onTestFinished(() => receiver.close());
  await service.ok("POST", "/v1/webhooks", { name: "alerts", url: receiver.url, events: ["job.failed"] });
  const { id } = await service.ok("POST", "/v1/webhooks/alerts/test");
  const path = `webhooks/alerts/deliveries/${id}`;
  await until(async () => (await service.ok("GET", `/v1/${path}`)).state === "delivered", "the delivery to end");
  return path;
}

test("a replay that is answered late does not take who has gone on to another page away from it", async ({
  dashboard,
  service,
  onTestFinished,
}) => {
  const page = await dashboard.open(await deliverTestEvent(service, onTestFinished));
  const replay = await hold(page, "**/replay");
  await click(page, "Replay");
  await until(() => replay.waiting() === 1, "the request");
  await page.getByRole("navigation", { name: "Up" }).getByRole("link", { name: "alerts" }).click();
  await heading(page, "alerts");
  await page.getByRole("grid", { name: "Deliveries" }).waitFor();
  await replay.release();
  await page.getByText("The event is sent again.").waitFor();
  await heading(page, "alerts");
});

test("a button whose request is under way cannot be pressed again, and has the focus when it can", async ({
  dashboard,
  service,
  onTestFinished,
}) => {
  const delivery = await deliverTestEvent(service, onTestFinished);
  const queue = await service.queue();
  await service.ok("POST", "/v1/schedules", { name: "nightly", queue, cron: "0 3 * * *", timezone: "UTC" });
  const page = await dashboard.open("workers");
  for (const [path, name, request, done] of [
    ["schedules/nightly", "Run now", "**/trigger", "nightly has enqueued"],
    ["schedules/nightly", "Pause", "**/pause", "nightly is paused."],
    [`queues/${queue}`, "Pause", `**/queues/${queue}`, `${queue} was paused.`],
    ["webhooks/alerts", "Send a test event", "**/test", "A test event is sent."],
    [delivery, "Replay", "**/replay", "The event is sent again."],
  ] as const) {
    await dashboard.goTo(page, path);
    const held = await hold(page, request);
    const button = page.getByRole("button", { name, exact: true });
    await button.press("Enter");
    await until(() => held.waiting() === 1, "the request");
    await page.getByRole("button", { name, exact: true, disabled: true }).waitFor();
    await held.release();
    await page.getByText(done, { exact: false }).waitFor();
    if (name === "Run now") await button.and(page.locator(":focus")).waitFor();
  }
});

test("a key belongs to the list from when it is made, also where the page hears of no changes", async ({ dashboard }) => {
  const page = await dashboard.open("keys");
  await page.context().route("**/v1/live", (route) => route.abort());
  await page.reload();
  await page.getByRole("grid", { name: "API keys" }).waitFor();
  const list = await hold(page, "**/v1/keys?*");
  await click(page, "New key");
  await page.getByLabel("Name").fill("Resizers");
  await click(page, "Create");
  await click(page, "I have stored it");
  await until(() => list.waiting() > 0, "the list to be read again");
  await list.release();
  const row = page.getByRole("row").filter({ hasText: "Resizers" });
  await row.waitFor();
  const isGone = await row.getAttribute("data-gone");
  expect(isGone).toBeNull();
});

test("a dialog whose request is under way is not closed, so that its response changes no other", async ({ dashboard, service }) => {
  const { queue } = await service.handler();
  const page = await dashboard.open(`queues/${queue}`);
  const rotation = await hold(page, (url) => url.pathname.endsWith(`/v1/queues/${queue}`));
  await click(page, "Rotate the secret");
  const dialog = page.getByRole("dialog", { name: /^Rotate the callback secret/ });
  await dialog.getByRole("button", { name: "Rotate", exact: true }).click();
  await until(() => rotation.waiting() > 0, "the request");
  await page.keyboard.press("Escape");
  for (const name of ["Cancel", "Close"]) await dialog.getByRole("button", { name, disabled: true }).waitFor();
  await rotation.release();
  await page.getByRole("dialog", { name: /^The callback secret of/ }).waitFor();
  await dialog.waitFor({ state: "hidden" });
});

test("a count that comes late does not turn the question that is open into another one", async ({ dashboard, service }) => {
  const queue = await service.queue();
  const job = await service.enqueue({ queue });
  await service.ok("DELETE", `/v1/queues/${queue}/jobs/${job.id}`);
  const page = await dashboard.open("jobs");
  const ask = async (name: string) => {
    await click(page, "All that match");
    await page.getByRole("menuitem", { name }).click();
  };
  const isOfRemove = (url: URL) => url.pathname.endsWith("/jobs/count") && url.searchParams.get("state")?.includes("completed") === true;
  const held = await hold(page, isOfRemove);
  const [count] = await Promise.all([page.waitForRequest((request) => isOfRemove(new URL(request.url()))), ask("Remove…")]);
  await until(() => held.waiting() === 1, "the request");
  await ask("Retry…");
  const dialog = page.getByRole("dialog", { name: "Retry 1 job?" });
  await dialog.waitFor();
  await held.release();
  await count.response();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await dialog.getByRole("button", { name: "Retry", exact: true }).click();
  await page.getByRole("status").getByText("1 job retried.").waitFor();
  expect(await service.jobStates()).toEqual({ waiting: 1 });
});

test("new rows are shown also to a person who has scrolled to the end of a long list", async ({ dashboard, service }) => {
  const queue = await service.queue();
  await service.ok("POST", `/v1/queues/${queue}/jobs/batch`, { jobs: Array.from({ length: 250 }, (_, n) => ({ payload: n })) });
  const page = await dashboard.open("jobs");
  await page.locator("[data-state=live]:visible").waitFor();
  await page.locator("[data-row='0']").waitFor();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.locator("[data-row='105']").waitFor();
  const { id } = await service.enqueue({ queue, payload: "newest" });
  await page.getByRole("button", { name: "1 new" }).click();
  await page.locator(`[data-row='0'] a[href*="${id}"]`).waitFor();
});

test("a list that is left while it is loaded again is loaded when it is shown the next time", async ({ dashboard }) => {
  const page = await dashboard.open("webhooks");
  await page.context().route("**/v1/live", (route) => route.abort());
  await page.reload();
  await page.getByRole("heading", { name: "No webhook yet" }).waitFor();
  await click(page, "New webhook");
  await page.getByLabel("Name").fill("alerts");
  await page.getByLabel("Address").fill("http://127.0.0.1:9/");
  await page.getByLabel("job.completed").check();
  await click(page, "Create");
  const list = await hold(page, "**/v1/webhooks?*");
  await click(page, "I have stored it");
  await heading(page, "alerts");
  await list.release();
  await page.getByRole("navigation", { name: "Up" }).getByRole("link", { name: "Webhooks" }).click();
  await page.getByRole("grid", { name: "Webhooks" }).getByText("alerts").waitFor();
});

test("a dialog in which somebody types stays when what it is for has happened", async ({ dashboard, service }) => {
  const workflow = await putWorkflow(service);
  const runId = await workflow.trigger();
  const steps = [{ key: "wait", type: "wait", status: "waiting", signal: "approve", timeout: 60_000 }];
  await workflow.end(await workflow.take(), { outcome: "suspended", steps });
  const page = await dashboard.open(`runs/${runId}`);
  await page.locator("[data-state=live]:visible").waitFor();
  await click(page, "Complete the signal");
  const dialog = page.getByRole("dialog", { name: "Complete approve" });
  await dialog.getByRole("textbox").fill('{"typed":true}');
  await service.ok("POST", "/v1/signals/approve/complete", 1);
  await workflow.take();
  await page.getByRole("list", { name: "What the run waits for" }).getByText("approve").waitFor({ state: "detached" });
  await expect.poll(() => dialog.getByRole("textbox").inputValue()).toBe('{"typed":true}');
});

test("what is typed in the profile while a change of it is saved stays, and can be saved, too", async ({ dashboard, service }) => {
  const person = await newPerson(service);
  const page = await dashboard.open("/account", { as: person });
  const held = await hold(page, "**/auth/profile");
  const address = page.getByLabel("Mail address");
  await address.fill("first@example.com");
  await click(page, "Save");
  await until(() => held.waiting() === 1, "the request");
  await address.fill("second@example.com");
  await held.release();
  await page.getByText("Your profile is changed").waitFor();
  await click(page, "Save");
  await expect.poll(async () => (await person.auth("GET", "session")).body.person.email).toBe("second@example.com");
});

test("what is typed in a form that is emptied when it was sent stays if it was typed later", async ({ dashboard, service }) => {
  const page = await dashboard.open("/account", { as: await newPerson(service) });
  const held = await hold(page, "**/auth/password");
  const [present, next] = [page.getByLabel("Current password"), page.getByLabel("New password")];
  await present.fill(PASSWORD);
  await next.fill("an entirely new password");
  await click(page, "Change the password");
  await until(() => held.waiting() === 1, "the request");
  await next.fill("an even newer password");
  await held.release();
  await expect.poll(() => present.inputValue()).toBe("");
  await expect.poll(() => next.inputValue()).toBe("an even newer password");
});

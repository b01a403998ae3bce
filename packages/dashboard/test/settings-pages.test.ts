import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { Handler } from "../../server/test/harness/handler.ts";
import { newPerson } from "../../server/test/harness/people.ts";
import { until } from "../../server/test/harness/service.ts";
import { type Dashboard, test } from "./harness/dashboard.ts";

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name, level: 1 }).waitFor();
const click = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const clean = async (dashboard: Dashboard, page: Page) => {
  expect(await dashboard.axe(page)).toEqual([]);
  expect(dashboard.violations).toEqual([]);
};

describe("webhooks", () => {
  test("a webhook is created with its secret shown once, tested, looked at, rotated, switched off and on, and deleted", async ({
    dashboard,
    service,
    onTestFinished,
  }) => {
    const receiver = await Handler.listen({ status: 200, body: "thanks for 12345678901234567890" });
    onTestFinished(() => receiver.close());
    const page = await dashboard.open("webhooks");
    await page.getByRole("heading", { name: "No webhook yet" }).waitFor();
    await click(page, "New webhook");
    await page.getByLabel("Name").fill("alerts");
    await page.getByLabel("Address").fill(receiver.url);
    await page.getByLabel("job.completed").check();
    await clean(dashboard, page);
    await click(page, "Create");
    const shown = page.getByRole("status", { name: "The secret of the webhook" });
    await expect.poll(() => shown.textContent()).toMatch(/^whsec_/);
    await click(page, "I have stored it");
    await heading(page, "alerts");
    await page.getByText("Nothing was sent yet").waitFor();
    await click(page, "Send a test event");
    await heading(page, "webhook.test");
    await until(() => receiver.received.length === 1, "the test event");
    await until(async () => {
      await page.reload();
      await heading(page, "webhook.test");
      return page.getByText("delivered").isVisible();
    }, "the delivery to end");
    await page.getByText("thanks for 12345678901234567890").waitFor();
    await clean(dashboard, page);
    await click(page, "Replay");
    await until(() => receiver.received.length === 2, "the replay");
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    await page.getByRole("navigation", { name: "Up" }).getByRole("link", { name: "alerts" }).click();
    await page.getByRole("grid", { name: "Deliveries" }).waitFor();
    await click(page, "More");
    await page.getByRole("menuitem", { name: "Rotate the secret" }).click();
    await click(page, "Rotate");
    await expect.poll(() => page.getByRole("status", { name: "The new secret of the webhook" }).textContent()).toMatch(/^whsec_/);
    await click(page, "I have stored it");
    await page.getByText("The old secret signs until").waitFor();
    await click(page, "More");
    await page.getByRole("menuitem", { name: "Switch off" }).click();
    await click(page, "Switch off");
    await click(page, "Switch on");
    await until(async () => (await service.ok("GET", "/v1/webhooks/alerts")).enabled, "the webhook to be on");
    await click(page, "Edit");
    await page.getByLabel("Address").fill("not an address");
    await click(page, "Save");
    await page.getByRole("alert").getByText("url").waitFor();
    await click(page, "Cancel");
    await clean(dashboard, page);
    await click(page, "More");
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await click(page, "Delete");
    await page.getByRole("heading", { name: "No webhook yet" }).waitFor();
    expect((await service.api("GET", "/v1/webhooks/alerts")).status).toBe(404);
  });

  test("a change of a webhook leaves what somebody else has changed meanwhile", async ({ dashboard, service }) => {
    await service.ok("POST", "/v1/webhooks", { name: "alerts", url: "http://127.0.0.1:9/", events: ["job.failed"] });
    const page = await dashboard.open("webhooks/alerts");
    await click(page, "Edit");
    await expect.poll(() => page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByLabel("job.completed").check();
    const theirs = { url: "http://127.0.0.1:9/theirs", headers: { "x-team": "theirs" } };
    await service.ok("PATCH", "/v1/webhooks/alerts", theirs);
    await click(page, "Save");
    await page.getByText("Saved.").waitFor();
    expect(await service.ok("GET", "/v1/webhooks/alerts")).toMatchObject({ ...theirs, events: ["job.completed", "job.failed"] });
  });

  test("a webhook that was switched off says why and what to do; who may only read changes nothing", async ({ dashboard, service }) => {
    await service.ok("POST", "/v1/webhooks", { name: "dead", url: "http://127.0.0.1:9/", events: ["job.failed"] });
    await service.database.query("update webhook set disabled_at = moment(), disabled_for = 'failing'");
    const page = await dashboard.open("webhooks/dead", { as: await newPerson(service, { role: "read" }) });
    await page.getByText("It was switched off, because no delivery succeeded for five days").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Switch on" }).count()).toBe(0);
    await expect.poll(() => page.getByRole("button", { name: "Edit" }).count()).toBe(0);
    await clean(dashboard, page);
  });
});

describe("secrets", () => {
  test("a secret is stored, shown with where it is used, changed, and deleted by its name", async ({ dashboard, service }) => {
    const handler = await service.handler({ callback_headers: { authorization: "Bearer ${{ secrets.API_TOKEN }}" } });
    const page = await dashboard.open("secrets");
    await click(page, "New secret");
    await page.getByLabel("Name").fill("API_TOKEN");
    await page.getByLabel("Value", { exact: true }).fill("s3cr3t-value");
    await clean(dashboard, page);
    await click(page, "Store");
    await page.getByRole("link", { name: "API_TOKEN" }).click();
    await heading(page, "API_TOKEN");
    await page.getByRole("link", { name: handler.queue }).waitFor();
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    await page.reload();
    await page.getByRole("cell", { name: `queue ${handler.queue}` }).waitFor();
    await clean(dashboard, page);
    await click(page, "Change or rotate");
    await page.getByLabel("New value", { exact: true }).fill("another-value");
    await page.getByLabel("All hosts").uncheck();
    await page.getByLabel("Only to these hosts").fill("api.example.com, example.com");
    await click(page, "Save");
    await page.getByText("api.example.com, example.com").waitFor();
    expect((await service.ok("GET", "/v1/secrets")).data[0]).toMatchObject({ value_hint: "ano...", allowed_queues: null });
    await click(page, "Delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Type API_TOKEN to confirm").fill("API_TOKEN");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "No secret yet" }).waitFor();
    expect(await page.content()).not.toMatch(/s3cr3t-value|another-value/);
  });

  test("a rotation leaves limits as they are, also one of nothing and one that somebody else has changed meanwhile", async ({
    dashboard,
    service,
  }) => {
    const limits = { allowed_queues: [], allowed_hosts: ["one.example.com"] };
    await service.ok("POST", "/v1/secrets", { name: "API_TOKEN", value: "s3cr3t-value", ...limits });
    const page = await dashboard.open("secrets/API_TOKEN");
    await click(page, "Change or rotate");
    const allQueues = page.getByLabel("All queues, workflows and webhooks");
    await expect.poll(() => allQueues.isChecked()).toBe(false);
    await expect.poll(() => page.getByLabel("Only for these queues").inputValue()).toBe("");
    await expect.poll(() => page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await page.getByLabel("New value", { exact: true }).fill("another-value");
    await service.ok("PATCH", "/v1/secrets/API_TOKEN", { allowed_hosts: ["two.example.com"] });
    await click(page, "Save");
    await page.getByText("The secret is changed.", { exact: false }).waitFor();
    const stored = async () => (await service.ok("GET", "/v1/secrets")).data[0];
    expect(await stored()).toMatchObject({ value_hint: "ano...", allowed_queues: [], allowed_hosts: ["two.example.com"] });
    await page.getByText("two.example.com").waitFor();
    await click(page, "Change or rotate");
    await allQueues.check();
    await page.getByLabel("Only to these hosts").fill("");
    await click(page, "Save");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await stored()).toMatchObject({ allowed_queues: null, allowed_hosts: [] });
  });
});

describe("keys", () => {
  test("a key of a worker is made for some queues, shown once, works, and is revoked", async ({ dashboard, service }) => {
    const queue = await service.queue();
    const page = await dashboard.open("keys");
    await click(page, "New key");
    await page.getByLabel("Name").fill("Resizers");
    await page.getByLabel("worker", { exact: true }).check();
    await page.getByLabel("Only these queues").fill(queue);
    await page.getByLabel("In 30 days").check();
    await clean(dashboard, page);
    await click(page, "Create");
    const key = await page.getByRole("status", { name: "The key Resizers" }).textContent();
    expect(key).toMatch(/^svc_ws_/);
    await click(page, "I have stored it");
    await page.getByRole("grid", { name: "API keys" }).getByText("Resizers").waitFor();
    const work = () => service.api("POST", "/v1/work", { worker: "w1", queues: [queue] }, { authorization: `Bearer ${key}` });
    expect((await work()).status).toBe(200);
    const { data } = await service.ok("GET", "/v1/keys");
    expect(data.find(({ name }: { name: string }) => name === "Resizers")).toMatchObject({ role: "worker", queues: [queue] });
    await clean(dashboard, page);
    // What is dangerous looks so in both themes.
    for (const theme of ["dark", "light"] as const) {
      const revoke = (await dashboard.open("keys", { theme })).getByRole("button", { name: "Revoke Resizers" });
      const redness = () =>
        revoke.evaluate((button) => {
          const [red = 0, green = 0, blue = 0] = getComputedStyle(button).color.match(/\d+/g)?.map(Number) ?? [];
          return red - Math.max(green, blue);
        });
      await expect.poll(redness).toBeGreaterThan(100);
    }
    await click(page, "Revoke Resizers");
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("The key is revoked.").waitFor();
    expect((await work()).status).toBe(401);
    expect(await page.content()).not.toContain(key);
  });
});

import { describe, expect } from "vitest";
import { newWorkspace, Service, test, until } from "../harness/service.ts";
import { Receiver } from "../harness/webhooks.ts";

const URL_OF = "http://127.0.0.1:9/events";

describe("webhooks", () => {
  test("a webhook is created, shown, listed, changed and deleted; its secret is in the first response alone", async ({ service }) => {
    const created = await service.api("POST", "/v1/webhooks", {
      name: "alerts",
      url: `${URL_OF}?team=1`,
      events: ["job.failed", "run.failed"],
      headers: { "X-Team": "billing" },
    });
    expect(created.status).toBe(201);
    const { secret, ...shown } = created.body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({
      name: "alerts",
      url: `${URL_OF}?team=1`,
      events: ["job.failed", "run.failed"],
      headers: { "X-Team": "billing" },
      enabled: true,
      disabled: null,
      stopped: null,
      failing_since: null,
      last_success_at: null,
      previous_secret_until: null,
      created_at: "2026-11-21T12:00:00.000Z",
      updated_at: "2026-11-21T12:00:00.000Z",
    });
    expect(await service.ok("GET", "/v1/webhooks/alerts")).toEqual(shown);
    await service.ok("POST", "/v1/webhooks", { name: "second", url: URL_OF, events: ["job.completed"] });
    const first = await service.ok("GET", "/v1/webhooks?limit=1");
    expect(first.data).toMatchObject([{ name: "second" }]);
    expect(await service.ok("GET", `/v1/webhooks?limit=1&cursor=${first.next_cursor}`)).toEqual({ data: [shown], next_cursor: null });
    const patched = await service.ok("PATCH", "/v1/webhooks/alerts", { events: ["job.completed"], headers: {} });
    expect(patched).toEqual({ ...shown, events: ["job.completed"], headers: {} });
    expect((await service.api("DELETE", "/v1/webhooks/alerts")).status).toBe(204);
    expect((await service.api("GET", "/v1/webhooks/alerts")).status).toBe(404);
    expect((await service.api("DELETE", "/v1/webhooks/alerts")).status).toBe(404);
  });

  test.for<[string, object, string]>([
    ["an unknown type of event", { events: ["job.done"] }, "events[0]"],
    ["no events", { events: [] }, "events"],
    ["an event twice", { events: ["job.failed", "job.failed"] }, "events"],
    ["an address that is none", { url: "mailto:a@example.com" }, "url"],
    ["a host that may not be reached", { url: "http://169.254.169.254/latest" }, "url"],
    ["a template in the host", { url: "https://${{ secrets.HOST }}/" }, "url"],
    ["a broken template in a header", { headers: { "X-A": "${{ secrets. }}" } }, "headers.X-A"],
    ["a reserved header", { headers: { "webhook-id": "mine" } }, "headers"],
    ["a field that does not exist", { event: ["job.failed"] }, "event"],
    ["a name with a slash", { name: "a/b" }, "name"],
  ])("bad input is refused, and the field is named: %s", async ([, fields, path], { service }) => {
    const reply = await service.api("POST", "/v1/webhooks", { name: "alerts", url: URL_OF, events: ["job.failed"], ...fields });
    expect([reply.status, reply.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(reply.body.error.details.issues[0].path).toContain(path);
  });

  test("a name is taken once, and a workspace has 20 webhooks at most", async ({ service }) => {
    const create = (name: string) => service.api("POST", "/v1/webhooks", { name, url: URL_OF, events: ["job.failed"] });
    expect((await create("alerts")).status).toBe(201);
    expect((await create("alerts")).body.error.code).toBe("CONFLICT");
    const others = await Promise.all(Array.from({ length: 20 }, (_, at) => create(`more-${at}`)));
    expect(others.filter(({ status }) => status === 201)).toHaveLength(19);
    expect(others.find(({ status }) => status !== 201)?.body.error.code).toBe("VALIDATION_ERROR");
  });

  test("the Free plan has no webhooks", async ({ node, database, clock }) => {
    const free = new Service(node, database, clock, await newWorkspace(database, "free"));
    const reply = await free.api("POST", "/v1/webhooks", { name: "alerts", url: URL_OF, events: ["job.failed"] });
    expect([reply.status, reply.body.error.code, reply.body.error.details.feature]).toEqual([403, "PLAN_REQUIRED", "webhooks"]);
  });

  test("a workspace does not see another's webhooks and deliveries: the replies are those for what does not exist", async ({
    service,
    node,
    database,
    clock,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await receiver.untilState("delivered");
    const [delivery] = await receiver.deliveries();
    const other = new Service(node, database, clock, await newWorkspace(database));
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/test"],
      ["GET", "/deliveries"],
      ["GET", `/deliveries/${delivery.id}`],
      ["POST", `/deliveries/${delivery.id}/replay`],
    ] as const) {
      const body = method === "PATCH" ? { enabled: false } : undefined;
      const foreign = await other.api(method, `/v1/webhooks/alerts${path}`, body);
      const absent = await other.api(method, `/v1/webhooks/absent${path}`, body);
      expect(foreign.status).toBe(404);
      expect(JSON.stringify(foreign.body).replaceAll("alerts", "absent")).toBe(JSON.stringify(absent.body));
    }
    expect(await other.ok("GET", "/v1/webhooks")).toEqual({ data: [], next_cursor: null });
    await service.ok("POST", "/v1/webhooks", { name: "second", url: URL_OF, events: ["job.failed"] });
    expect((await service.api("GET", `/v1/webhooks/second/deliveries/${delivery.id}`)).status).toBe(404);
  });

  test("every change is audited, without credentials", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, {
      events: ["job.failed"],
      headers: { Authorization: "Bearer hidden" },
    });
    await service.ok("PATCH", "/v1/webhooks/alerts", { events: ["job.completed"], rotate_secret: true });
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await receiver.untilState("delivered");
    const [delivery] = await receiver.deliveries();
    await service.ok("POST", `/v1/webhooks/alerts/deliveries/${delivery.id}/replay`);
    await service.api("DELETE", "/v1/webhooks/alerts");
    const { data } = await service.ok("GET", "/v1/audit-events?resource_type=webhook");
    expect(data.map(({ event_type }: { event_type: string }) => event_type)).toEqual([
      "webhook.deleted",
      "webhook.replayed",
      "webhook.tested",
      "webhook.secret_rotated",
      "webhook.updated",
      "webhook.created",
    ]);
    expect(JSON.stringify(data)).not.toMatch(/hidden|whsec_/);
    expect(data.at(-1).input).toMatchObject({ events: ["job.failed"], headers: ["Authorization"] });
  });

  test("deliveries end with their webhook", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"], answers: 500 });
    const handler = await service.handler();
    await service.enqueue({ queue: handler.queue });
    await receiver.untilReceived(1);
    await until(async () => (await receiver.deliveries())[0]?.attempts === 1);
    await service.api("DELETE", "/v1/webhooks/alerts");
    await service.advance(3_600);
    expect(receiver.server.received).toHaveLength(1);
  });
});

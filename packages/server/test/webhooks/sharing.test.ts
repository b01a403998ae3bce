import { describe, expect } from "vitest";
import { joinedBy } from "../harness/nodes.ts";
import { newWorkspace, Service, test, until } from "../harness/service.ts";
import { Receiver } from "../harness/webhooks.ts";

describe("webhooks share a node", () => {
  test("two nodes take each event once", async ({ service, onTestFinished }) => {
    const other = await joinedBy(service);
    onTestFinished(() => other.node.stop());
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    const handler = await service.handler();
    const jobs = Array.from({ length: 200 }, (_, payload) => ({ payload }));
    const { jobs: made } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, { jobs });
    await until(() => {
      for (const { node } of [service, other]) node.wake();
      return receiver.server.received.length >= made.length;
    }, "all events");
    await receiver.untilTaken();
    await until(async () => Object.keys(await service.jobStates()).length === 0, "all deliveries to end");
    expect(receiver.events.map(({ data }) => data.id).sort()).toEqual(made.map(({ id }: { id: string }) => id).sort());
    expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(made.length);
  });

  test("a subscriber that hangs costs others nothing: webhooks, queues, workspaces", async ({
    service,
    node,
    database,
    clock,
    onTestFinished,
  }) => {
    const hanging = await Receiver.create(service, onTestFinished, { name: "hanging", events: ["job.completed"], answers: "hang" });
    const fine = await Receiver.create(service, onTestFinished, { name: "fine", events: ["job.completed"] });
    const other = new Service(node, database, clock, await newWorkspace(database));
    onTestFinished(() => other.close());
    const theirs = await Receiver.create(other, onTestFinished, { events: ["job.completed"] });
    const jobs = Array.from({ length: 100 }, (_, payload) => ({ payload }));
    const handlers = [await service.handler(), await other.handler()];
    await service.ok("POST", `/v1/queues/${handlers[0]?.queue}/jobs/batch`, { jobs });
    await fine.untilReceived(100);
    await until(() => hanging.server.open > 0, "requests that hang");
    await other.enqueue({ queue: handlers[1]?.queue as string });
    await theirs.untilReceived(1);
    expect((await hanging.deliveries("?state=delivered")).length).toBe(0);
    const { enabled } = await service.ok("PATCH", "/v1/webhooks/hanging", { enabled: false });
    expect(enabled).toBe(false);
    await until(() => hanging.server.open === 0, "its requests to be aborted");
    expect((await hanging.deliveries("?state=pending")).length).toBe(0);
    await until(async () => Object.keys(await service.jobStates()).length === 0, "no job to be left");
  });

  test("secrets fill in the address and headers; what is kept of the response has none, and the access is audited", async ({
    service,
    onTestFinished,
  }) => {
    await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "s3cr3t-value" });
    const receiver = await Receiver.create(service, onTestFinished, {
      events: ["job.completed"],
      headers: { Authorization: "Bearer ${{ secrets.TOKEN }}" },
      answers: ({ headers, path }) => ({ status: 200, body: `You sent ${headers.authorization} to ${path}.` }),
    });
    const url = `${receiver.server.url}?key=\${{ secrets.TOKEN }}`;
    expect(await service.ok("PATCH", "/v1/webhooks/alerts", { url })).toMatchObject({ url });
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await receiver.untilState("delivered");
    expect(receiver.server.received[0]?.headers.authorization).toBe("Bearer s3cr3t-value");
    const [delivery] = await receiver.deliveries();
    expect(delivery.response_body).toBe("You sent Bearer [secret:TOKEN] to /callback?key=[secret:TOKEN].");
    const { data } = await service.ok("GET", "/v1/audit-events?event_type=secret.accessed");
    expect(data).toMatchObject([{ resource_id: "TOKEN", input: { webhook: "alerts", host: "127.0.0.1", attempts: { 1: [delivery.id] } } }]);
    await service.ok("PATCH", "/v1/webhooks/alerts", { headers: { "X-Other": "${{ secrets.ABSENT }}" } });
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await until(async () => (await receiver.deliveries())[0]?.attempts === 1);
    expect((await receiver.deliveries())[0]).toMatchObject({ state: "pending", last_error: { code: "SECRET_NOT_FOUND" } });
    const read = await service.ok("POST", "/v1/keys", { name: "reader", role: "read" });
    const shown = await service.api("GET", "/v1/webhooks/alerts", undefined, { authorization: `Bearer ${read.key}` });
    expect(shown.body.headers).toEqual({ "X-Other": "[hidden]" });
  });

  test("an address that came to be refused gets nothing", async ({ service, database, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    await database.query(
      `with changed as (update lane set revision = revision + 1 where kind = 'webhook' and name = 'alerts' returning workspace_id, id)
       update webhook w set url = 'http://169.254.169.254/latest' from changed where w.workspace_id = changed.workspace_id and w.id = changed.id
         and w.url = $1`,
      [receiver.server.url],
    );
    await service.ok("POST", "/v1/webhooks/alerts/test");
    await until(async () => (await receiver.deliveries())[0]?.attempts === 1);
    expect((await receiver.deliveries())[0].last_error).toMatchObject({ code: "BLOCKED_ADDRESS", status: null });
  });

  test("the circuit of a dead webhook opens: its deliveries wait, and go on when it works again", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"], answers: 503 });
    const handler = await service.handler();
    const jobs = Array.from({ length: 30 }, (_, payload) => ({ payload }));
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, { jobs });
    await receiver.untilReceived(20);
    await until(async () => (await service.database.query("select from circuit")).length > 0, "the circuit to open");
    receiver.server.answers = 200;
    await until(async () => {
      await service.advance(1);
      return (await receiver.deliveries("?state=pending")).length === 0;
    }, "all to be delivered");
    expect(new Set(receiver.events.map(({ data }) => data.id)).size).toBe(30);
  });
});

import { expect } from "vitest";
import { until } from "../../../server/test/harness/service.ts";
import { putWorkflow } from "../../../server/test/harness/workflows.ts";
import { readRows } from "../output.ts";
import { test } from "./client.ts";

test("a queue is created with options for its fields, changed, shown, paused and deleted", async ({ command, service }) => {
  const created = await command.json("queue", "create", "emails", "--concurrency", "5", "--rate-limit", '{"max":10,"per_seconds":1}');
  expect(created).toMatchObject({ name: "emails", concurrency: 5, rate_limit: { max: 10, per_seconds: 1 } });
  expect(await command.json("queue", "update", "emails", "--concurrency", "none")).toMatchObject({ concurrency: null });
  await command.output("queue", "pause", "emails");
  expect(await command.json("queue", "get", "emails")).toMatchObject({ paused: true, metrics: { waiting: 0 } });
  await command.output("queue", "resume", "emails");
  expect(await command.json("queue", "list")).toMatchObject([{ name: "emails", paused: false }]);
  await command.output("queue", "delete", "emails", "--yes");
  expect((await service.api("GET", "/v1/queues/emails")).status).toBe(404);
});

test("what cannot be undone is not done without a terminal to ask in", async ({ command, service }) => {
  const queue = await service.queue();
  expect(await command.run("queue", "delete", queue)).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  expect((await service.api("GET", `/v1/queues/${queue}`)).status).toBe(200);
});

test("a job is shown with its attempts, by its id alone or with its queue", async ({ command, service }) => {
  const handler = await service.handler();
  const { id } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, { payload: { n: 1 }, tag: "welcome" });
  await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}/jobs/${id}`)).state === "completed");
  const expected = { id, state: "completed", tag: "welcome", attempts_log: [{ attempt: 1, status: 200 }] };
  expect(await command.json("job", "get", id)).toMatchObject(expected);
  expect(await command.json("job", "get", handler.queue, id)).toMatchObject(expected);
  expect(readRows(await command.output("job", "list", handler.queue, "--state", "completed"))).toMatchObject([{ ID: id, TAG: "welcome" }]);
});

test("a job that has not finished is cancelled, then retried", async ({ command, service }) => {
  const queue = await service.queue();
  const { id } = await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  expect(await command.json("job", "delete", queue, id)).toMatchObject({ state: "cancelled" });
  expect(await command.json("job", "retry", queue, id)).toMatchObject({ state: "waiting" });
});

test("jobs of all queues are listed, and many are cancelled and retried at once", async ({ command, service }) => {
  const queues = [await service.queue(), await service.queue()];
  for (const queue of queues) await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: { of: queue }, tag: "welcome" });
  expect(readRows(await command.output("job", "list", "--tag", "welcome"))).toMatchObject([{ QUEUE: queues[1] }, { QUEUE: queues[0] }]);
  expect(await command.json("job", "list", "--payload-contains", `${queues[0]}"`)).toMatchObject([{ queue: queues[0] }]);
  expect(await command.run("job", "list", "nowhere")).toMatchObject({ code: 4, stderr: expect.stringContaining("nowhere") });
  expect(await command.json("job", "cancel-many", "--tag", "welcome", "--yes")).toMatchObject({ state: "completed", matched: 2, done: 2 });
  const [operation] = await command.json("operation", "list");
  expect(operation).toMatchObject({ action: "cancel", done: 2 });
  expect(await command.json("operation", "get", operation.id)).toEqual(operation);
  expect(await command.json("job", "retry-many", "--state", "cancelled", "--yes")).toMatchObject({ done: 2 });
  const { stderr } = await command.run("job", "remove-many", "--state", "waiting", "--yes");
  expect(stderr).toContain("filter.state must have one of the states that remove changes");
});

test("failed jobs are shown in groups", async ({ command, service }) => {
  const handler = await service.handler({ answers: 410 });
  const { id } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, { payload: 1 });
  await until(async () => (await service.ok("GET", `/v1/queues/${handler.queue}/jobs/${id}`)).state === "failed");
  const [group] = await command.json("dlq", "groups");
  expect(group).toMatchObject({ count: 1, queues: [handler.queue] });
  expect(await command.output("dlq", "groups")).toContain(group.fingerprint);
  expect(await command.json("dlq", "list", "--fingerprint", group.fingerprint)).toMatchObject([{ id }]);
});

test("explain says why a job of the workspace is not running", async ({ command, service }) => {
  const queue = await service.queue();
  const { id } = await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  expect(await command.json("explain", id)).toMatchObject({ id, held_by: ["handler"] });
  expect(await command.output("explain", queue, id)).toContain("neither a callback_url nor a worker");
});

test("a schedule is created, listed, paused, resumed, triggered and previewed", async ({ command, service }) => {
  const queue = await service.queue();
  const fields = ["--name", "nightly", "--queue", queue, "--cron", "30 2 * * *", "--timezone", "Europe/Berlin", "--payload", '{"a":1}'];
  expect(await command.json("schedule", "create", ...fields)).toMatchObject({ name: "nightly", payload: { a: 1 } });
  await command.output("schedule", "pause", "nightly");
  expect(await command.json("schedule", "list", "--paused")).toMatchObject([{ name: "nightly", state: "paused" }]);
  await command.output("schedule", "resume", "nightly");
  expect(await command.json("schedule", "trigger", "nightly")).toMatchObject({ queue, schedule: "nightly" });
  const { runs } = await command.json("schedule", "preview", "--cron", "30 2 * * *", "--timezone", "UTC", "--count", "2");
  expect(runs).toHaveLength(2);
});

test("a job of an approval queue is listed and approved", async ({ command, service }) => {
  const queue = await service.queue({ type: "approval" });
  const { id } = await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  expect(await command.json("approval", "list")).toMatchObject([{ id }]);
  expect(await command.json("approval", "approve", queue, id, "--by", "ada")).toMatchObject({
    state: "waiting",
    approval: { decision: "approved", by: "ada" },
  });
});

test("failed jobs are listed, retried and purged", async ({ command, service }) => {
  const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
  await service.ok("POST", `/v1/queues/${handler.queue}/jobs`, { payload: 1 });
  const failed = () => command.json("dlq", "list");
  await until(async () => (await failed()).length === 1);
  expect(readRows(await command.output("dlq", "list"))).toMatchObject([{ ERROR: expect.stringContaining("HTTP_STATUS") }]);
  expect(await command.json("dlq", "retry", "--queue", handler.queue, "--error", "HTTP_STATUS")).toEqual({ retried: 1 });
  await until(async () => (await failed()).length === 1);
  expect(await command.json("dlq", "purge", "--yes")).toEqual({ purged: 1 });
});

test("status, usage, workers and audit events are shown", async ({ command, service }) => {
  const queue = await service.queue();
  await service.ok("POST", `/v1/queues/${queue}/jobs`, { payload: 1 });
  await service.ok("POST", "/v1/work", { worker: "w", queues: [queue] });
  expect(await command.json("status")).toMatchObject({ jobs: { active: 1 } });
  expect(await command.json("usage")).toMatchObject({ executions: { total: 1 } });
  expect((await command.json("metrics", "--step", "3600")).data.at(-1)).toMatchObject({ enqueued: 1 });
  expect(await command.json("deploy", "mark", "shop", "v214")).toMatchObject({ name: "shop", version: "v214" });
  expect(await command.json("deploy", "list")).toMatchObject([{ name: "shop" }]);
  expect((await command.json("changes")).data).toMatchObject([{ type: "deploy" }, { type: "queue.created" }]);
  expect(await command.json("worker", "list")).toMatchObject([{ name: "w", queues: [queue] }]);
  expect(await command.json("audit", "list", "--event-type", "queue.created")).toMatchObject([{ resource_id: queue }]);
});

test("a list ends at its limit, and has all records when it is asked to", async ({ command, service }) => {
  const queue = await service.queue();
  await service.ok(
    "POST",
    `/v1/queues/${queue}/jobs/batch`,
    Array.from({ length: 130 }, (_, n) => ({ payload: n })),
  );
  const { stdout, stderr } = await command.run("job", "list", queue, "--json");
  expect(JSON.parse(stdout)).toHaveLength(50);
  expect(stderr).toBe("tidemill: There are more. Use --limit or --all to list them.\n");
  expect(await command.json("job", "list", queue, "--limit", "120")).toHaveLength(120);
  expect(await command.json("job", "list", queue, "--all")).toHaveLength(130);
});

test("an event is sent with the digits of its data", async ({ command, service }) => {
  const { take } = await putWorkflow(service, { events: ["user.created"] });
  const sent = await command.json("event", "send", "user.created", '[{"n":12345678901234567890}]', "--idempotency-key", "k", "--ts", "5");
  expect(sent).toMatchObject({ eventId: expect.stringMatching(/^evt_/), runIds: [expect.any(String)], duplicate: false });
  const { runId, trigger } = await take();
  expect([runId, trigger]).toEqual([sent.runIds[0], { type: "event", eventId: sent.eventId, name: "user.created", ts: 5 }]);
  const { text } = await service.api("GET", `/v1/runs/${runId}`);
  expect(text).toContain('"input":[{"n":12345678901234567890}]');
});

test("a cancelled run is retried", async ({ command, service }) => {
  const { trigger } = await putWorkflow(service);
  const runId = await trigger();
  await service.ok("POST", `/v1/runs/${runId}/cancel`);
  expect(await command.json("run", "retry", runId)).toMatchObject({ runId, status: "pending" });
});

test("a run is shown with its steps, and what an http step waits for", async ({ command, service }) => {
  const server = await service.handler({ answers: 503 });
  const flow = await putWorkflow(service);
  const runId = await flow.trigger({ input: 1 });
  const steps = [
    { key: "load", type: "run", status: "failed", error: { name: "Error", message: "Gone." } },
    { key: "charge", type: "http", status: "waiting", http: { url: server.url } },
    { key: "ok", type: "wait", status: "waiting", signal: "approve.u1", timeout: 1_000 },
  ];
  await flow.end(await flow.take(), { outcome: "suspended", steps });
  await until(async () => typeof (await flow.get(runId)).waitingFor[0]?.nextAttemptAt === "string", "an attempt to fail");
  expect(await command.json("run", "get", runId)).toMatchObject({
    runId,
    waitingFor: [{ type: "http", step: "charge" }, { type: "signal" }],
  });
  const [fields, table] = (await command.output("run", "get", runId)).split("\n\n");
  expect(fields).toContain("status\twaiting");
  const call = expect.stringMatching(/^GET http:\S+ \(1 of 3 attempts, next at \S+\): The response has the status 503\.$/);
  expect(readRows(table ?? "")).toMatchObject([
    { STEP: "load", TYPE: "run", STATUS: "failed", DETAIL: "Gone." },
    { STEP: "charge", TYPE: "http", STATUS: "waiting", DETAIL: call },
    { STEP: "ok", DETAIL: expect.stringMatching(/^approve\.u1 until /) },
  ]);
});

test("a webhook is created, tested, switched off and on, and its deliveries are listed and replayed", async ({ command, service }) => {
  const { url } = await service.handler();
  const fields = [url, "--events", "job.failed,run.failed", "--headers", '{"x-team":"billing"}'];
  const created = await command.json("webhook", "create", "alerts", ...fields);
  expect(created).toMatchObject({ name: "alerts", events: ["job.failed", "run.failed"], secret: expect.stringMatching(/^whsec_/) });
  const { id } = await command.json("webhook", "test", "alerts");
  await until(async () => (await command.json("webhook", "deliveries", "alerts", "--state", "delivered")).length === 1);
  expect(readRows(await command.output("webhook", "deliveries", "alerts"))).toMatchObject([{ ID: id, TYPE: "webhook.test" }]);
  const { event_id } = await command.json("webhook", "replay", "alerts", id);
  expect(await command.json("webhook", "deliveries", "alerts")).toMatchObject([{ event_id }, { event_id }]);
  expect(await command.json("webhook", "disable", "alerts")).toMatchObject({ enabled: false, disabled: { reason: "request" } });
  expect(await command.json("webhook", "enable", "alerts")).toMatchObject({ enabled: true });
  expect(await command.json("webhook", "update", "alerts", "--rotate-secret", "--address", `${url}/new`)).toMatchObject({
    url: `${url}/new`,
    secret: expect.stringMatching(/^whsec_/),
  });
  expect(await command.json("webhook", "list")).toMatchObject([{ name: "alerts" }]);
  await command.output("webhook", "delete", "alerts", "--yes");
  expect((await service.api("GET", "/v1/webhooks/alerts")).status).toBe(404);
});

test("the list of deliveries says why one was not taken", async ({ command, service }) => {
  const { url } = await service.handler({ answers: 500 });
  await command.output("webhook", "create", "alerts", url, "--events", "job.failed");
  await command.output("webhook", "test", "alerts");
  const deliveries = async () => readRows(await command.output("webhook", "deliveries", "alerts"));
  await until(async () => (await deliveries())[0]?.ATTEMPTS === "1");
  expect(await deliveries()).toMatchObject([{ TYPE: "webhook.test", ERROR: expect.stringMatching(/^HTTP_STATUS: /) }]);
});

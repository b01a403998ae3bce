import { describe, expect } from "vitest";
import { readRunId } from "../../src/workflows/runs/run.ts";
import { limitedTo } from "../harness/limits.ts";
import { type Service, test, until } from "../harness/service.ts";
import { Receiver } from "../harness/webhooks.ts";
import { putWorkflow } from "../harness/workflows.ts";

const RUN_EVENTS = ["run.completed", "run.failed", "run.cancelled", "run.waiting_for_code"];

/** The fields of a job in an event: all but its payload. */
async function listed(service: Service, job: { id: string; queue: string }): Promise<object> {
  const { payload: _, attempts_log: __, ...fields } = await service.job(job);
  return fields;
}

describe("the events of a webhook", () => {
  test("job.failed: a job goes to the dead-letter queue, for good or after its attempts; others of its attempts are no event", async ({
    service,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.failed"] });
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2 });
    await service.untilIdle();
    await receiver.untilReceived(1);
    expect(receiver.events).toMatchObject([{ type: "job.failed", data: await listed(service, job) }]);
    expect(receiver.events[0]?.data).toMatchObject({ id: job.id, state: "failed", attempt: 2, last_error: { status: 500 } });
    await service.ok("POST", `/v1/queues/${handler.queue}/jobs/${job.id}/retry`);
    await service.untilIdle();
    await receiver.untilReceived(2);
    expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(2);
  });

  test("job.completed: also by a worker, whose result keeps its digits", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.completed"] });
    const queue = await service.queue();
    const job = await service.enqueue({ queue });
    const [taken] = (await service.ok("POST", `/v1/queues/${queue}/jobs/claim`, { worker: "w1" })).jobs;
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/${job.id}/complete`,
      `{"lease_token":"${taken.lease_token}","result":9007199254740993}`,
    );
    await receiver.untilReceived(1);
    expect(receiver.server.received[0]?.raw).toContain('"result": 9007199254740993');
    expect(receiver.events[0]?.data).toMatchObject({ id: job.id, queue, state: "completed", started_at: expect.any(String) });
  });

  test("approval.requested and approval.decided: by callers, by time-outs, and for a job that is held again", async ({
    service,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["approval.requested", "approval.decided"] });
    const queue = await service.queue({ type: "approval", approval: { timeout: 60 } });
    const first = await service.enqueue({ queue, tag: "refund" });
    await receiver.untilReceived(1);
    expect(receiver.events).toMatchObject([{ type: "approval.requested", data: await listed(service, first) }]);
    await service.ok("POST", `/v1/queues/${queue}/jobs/${first.id}/approve`, { by: "ada" });
    await receiver.untilReceived(2);
    expect(receiver.events[1]).toMatchObject({
      type: "approval.decided",
      data: { id: first.id, state: "waiting", approval: { decision: "approved", by: "ada" } },
    });
    const second = await service.enqueue({ queue });
    await service.ok("POST", `/v1/queues/${queue}/jobs/${second.id}/reject`, { reason: "no" });
    await receiver.untilReceived(4);
    expect(receiver.events[3]?.data).toEqual(await listed(service, second));
    const third = await service.enqueue({ queue });
    await service.ok("DELETE", `/v1/queues/${queue}/jobs/${third.id}`);
    await service.ok("POST", `/v1/queues/${queue}/jobs/${third.id}/retry`);
    await receiver.untilReceived(6);
    await service.advance(60);
    await receiver.untilReceived(7);
    expect(receiver.events.slice(4).map(({ type, data }) => [type, data.id, data.approval?.decision])).toEqual([
      ["approval.requested", third.id, undefined],
      ["approval.requested", third.id, undefined],
      ["approval.decided", third.id, "rejected"],
    ]);
  });

  test("circuit.opened and circuit.closed: of a queue, not of the webhook itself", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["circuit.opened", "circuit.closed"] });
    const handler = await service.handler({ answers: 500 });
    for (let at = 0; at < 20; at += 1) await service.enqueue({ queue: handler.queue, attempts: 1 });
    await receiver.untilReceived(1);
    expect(receiver.events[0]).toMatchObject({
      type: "circuit.opened",
      data: { kind: "queue", name: handler.queue, last_error: { code: "HTTP_STATUS", status: 500 }, next_probe_at: expect.any(String) },
    });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { callback_timeout: 7 });
    await receiver.untilReceived(2);
    expect(receiver.events[1]).toMatchObject({
      type: "circuit.closed",
      data: { kind: "queue", name: handler.queue, failed_probes: 0, closed_at: expect.any(String) },
    });
  });

  test("schedule.skipped: a tick overlaps with a job that has not ended, or the quota refuses it", async ({ service, onTestFinished }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const receiver = await Receiver.create(limited, onTestFinished, { events: ["schedule.skipped"] });
    const queue = await limited.queue();
    const made = { queue, cron: "* * * * *", timezone: "UTC" };
    await limited.ok("POST", "/v1/schedules", { name: "exclusive", overlap: "skip", ...made });
    await limited.advance(60);
    await limited.advance(60);
    await receiver.untilReceived(1);
    expect(receiver.events[0]).toMatchObject({
      type: "schedule.skipped",
      data: { schedule: "exclusive", queue, workflow: null, reason: "overlap", ticks: null },
    });
    await limited.ok("PATCH", "/v1/schedules/exclusive/pause");
    await limited.ok("POST", "/v1/schedules", { name: "second", ...made });
    await limited.advance(60);
    await receiver.untilReceived(2);
    expect(receiver.events[1]?.data).toMatchObject({ schedule: "second", reason: "quota", ticks: 1 });
    await limited.ok("DELETE", "/v1/schedules/exclusive");
    await limited.ok("DELETE", "/v1/schedules/second");
  });

  test("quota.threshold: at 80 and at 100 percent, once in a month each", async ({ service, onTestFinished }) => {
    const limited = await limitedTo(service, { executions_per_month: 10 });
    const receiver = await Receiver.create(limited, onTestFinished, { events: ["quota.threshold"] });
    const queue = await limited.queue();
    const enqueue = (count: number) =>
      limited.api(
        "POST",
        `/v1/queues/${queue}/jobs/batch`,
        Array.from({ length: count }, () => ({ payload: 1 })),
      );
    expect((await enqueue(7)).status).toBe(201);
    expect(await service.database.query("select from event_outbox")).toHaveLength(0);
    expect((await enqueue(1)).status).toBe(201);
    await receiver.untilReceived(1);
    expect((await enqueue(3)).status).toBe(402);
    expect((await enqueue(2)).status).toBe(201);
    expect((await enqueue(1)).status).toBe(402);
    await receiver.untilReceived(2);
    expect(receiver.events.map(({ data }) => data)).toEqual([
      { percent: 80, used: 8, limit: 10, plan: "team" },
      { percent: 100, used: 10, limit: 10, plan: "team" },
    ]);
    await receiver.untilTaken();
    expect(receiver.events).toHaveLength(2);
  });

  test("run.completed, run.failed, run.cancelled and workflow.hook.errored", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: [...RUN_EVENTS, "workflow.hook.errored"] });
    const flow = await putWorkflow(service, { attempts: 1, hooks: ["onFailure"] });
    const ids = [await flow.trigger({ idempotencyKey: "k" }), await flow.trigger(), await flow.trigger()];
    await flow.end(await flow.take(), { outcome: "completed", result: { n: 1 } });
    await receiver.untilReceived(1);
    await flow.end(await flow.take(), { outcome: "failed", error: "It broke." });
    await receiver.untilReceived(2);
    await service.ok("POST", `/v1/runs/${ids[2]}/cancel`);
    await receiver.untilReceived(3);
    const [hook] = (await flow.work({ workflows: [flow.id], wait: 10 })).hooks;
    if (!hook) throw new Error("There was no hook to take.");
    await flow.work({ settle: [{ id: hook.id, lease_token: hook.lease_token, outcome: "failed", error: "The hook broke." }] });
    await receiver.untilReceived(4);
    const runs = (await service.ok("GET", "/v1/runs")).data as { runId: string; status: string }[];
    const types = { completed: "run.completed", failed: "run.failed", cancelled: "run.cancelled" } as Record<string, string>;
    for (const [at, id] of ids.entries()) {
      const run = runs.find(({ runId }) => runId === id);
      expect(receiver.events[at]).toMatchObject({ type: types[run?.status ?? ""], data: run });
    }
    expect(receiver.events[3]).toMatchObject({
      type: "workflow.hook.errored",
      data: { runId: ids[1], workflowId: flow.id, hook: "onFailure", message: "The hook broke.", occurredAt: expect.any(String) },
    });
  });

  test("run.waiting_for_code: a journal does not fit the code", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["run.waiting_for_code"] });
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    const { lease_token } = await flow.take({ version: "v1" });
    await flow.work({ version: "v1", settle: [{ id: runId, lease_token, outcome: "unfit", step: "load", error: "It does not fit." }] });
    await receiver.untilReceived(1);
    const { waitingFor } = await flow.get(runId);
    expect(receiver.events[0]).toMatchObject({ type: "run.waiting_for_code", data: { runId, status: "waiting", waitingFor } });
  });

  test("run.waiting_for_code comes once while a run is tried again, and again when it was given to other code", async ({
    service,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["run.waiting_for_code"] });
    const flow = await putWorkflow(service);
    await flow.trigger();
    for (const step of ["load", "load again"]) {
      await flow.end(await flow.take(), { outcome: "unfit", step, error: "It does not fit." });
      await service.advance(30);
    }
    await flow.end(await flow.take(), { outcome: "unfit", step: "load again", error: "It does not fit." });
    await service.ok("PUT", `/v1/workflows/${flow.id}`, {});
    await flow.end(await flow.take(), { outcome: "unfit", step: "load after a registration", error: "It does not fit." });
    await receiver.untilReceived(2);
    expect(receiver.events.map(({ data }) => data.waitingFor[0].step)).toEqual(["load", "load after a registration"]);
  });

  test("run.waiting_for_code comes of a run that was given to other code, also if a node of an earlier version says so", async ({
    service,
    onTestFinished,
  }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["run.waiting_for_code"] });
    const flow = await putWorkflow(service);
    const runId = await flow.trigger();
    const { lease_token } = await flow.take({ version: "v1" });
    await flow.work({ version: "v1", settle: [{ id: runId, lease_token, outcome: "unfit", step: "load", error: "It does not fit." }] });
    await flow.take({ version: "v2" });
    // That version does not know the other columns.
    await service.database.query(
      "update run_unfit set step = 'load again', version = 'v2', tried = array_append(tried, 'v2'), parked = true where run_id = $1",
      [readRunId(runId)],
    );
    await receiver.untilReceived(2);
    expect(receiver.events.map(({ data }) => data.waitingFor[0].step)).toEqual(["load", "load again"]);
  });

  test("nothing is stored for workspaces and types that no webhook wants", async ({ service, onTestFinished }) => {
    const receiver = await Receiver.create(service, onTestFinished, { events: ["job.failed"] });
    const other = await limitedTo(service, {});
    for (const one of [service, other]) {
      const handler = await one.handler();
      await one.enqueue({ queue: handler.queue });
      await one.untilIdle();
    }
    expect(await service.database.query("select from event_outbox")).toHaveLength(0);
    expect(await service.database.query("select type from webhook_topic where type = 'job.failed'")).not.toHaveLength(0);
    await service.ok("PATCH", "/v1/webhooks/alerts", { enabled: false });
    const handler = await service.handler({ answers: 500 });
    await service.enqueue({ queue: handler.queue, attempts: 1 });
    await service.untilIdle();
    expect(await service.database.query("select from event_outbox")).toHaveLength(0);
    expect(receiver.events).toEqual([]);
  });

  test("every webhook that wants an event gets it, with the same id; webhooks use no executions, and are no queues", async ({
    service,
    onTestFinished,
  }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const first = await Receiver.create(limited, onTestFinished, { name: "first", events: ["job.completed"] });
    const second = await Receiver.create(limited, onTestFinished, { name: "second", events: ["job.completed", "job.failed"] });
    const handler = await limited.handler();
    const job = await limited.enqueue({ queue: handler.queue });
    await first.untilReceived(1);
    await second.untilReceived(1);
    expect(first.events).toEqual(second.events);
    await until(async () => (await first.deliveries())[0]?.state === "delivered");
    expect((await limited.ok("GET", "/v1/queues")).data).toMatchObject([{ name: handler.queue }]);
    expect((await limited.ok("GET", "/v1/usage")).executions.total).toBe(1);
    expect((await limited.ok("GET", "/v1/status")).jobs).toMatchObject({ waiting: 0, active: 0, completed: 1 });
    expect((await limited.ok("GET", `/v1/queues/${handler.queue}/jobs`)).data).toMatchObject([{ id: job.id }]);
  });
});

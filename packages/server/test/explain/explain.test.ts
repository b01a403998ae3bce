import { type ExplainedGate, type Explanation, GATES, type GateName } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { momentMs, toMoment } from "#kernel";
import { laneOf, putCircuit, test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { type Service, until } from "../harness/service.ts";

const NOON = "2026-11-21T12:00:00.000Z";

const explain = (service: Service, job: { id: string; queue: string }): Promise<Explanation> =>
  service.ok("GET", `/v1/queues/${job.queue}/jobs/${job.id}/explain`);

function gateOf({ gates }: Explanation, name: GateName): ExplainedGate {
  const found = gates.find(({ gate }) => gate === name);
  if (!found) throw new Error(`There is no gate ${name}.`);
  return found;
}

describe("an explanation", () => {
  test("an explanation tells every gate with its figures, in their order", async ({ service }) => {
    const queue = await service.queue();
    const job = await service.enqueue({ queue });
    expect(await explain(service, job)).toEqual({
      id: job.id,
      queue,
      state: "waiting",
      held_by: ["handler"],
      summary: "Not running: the queue has neither a callback_url nor a worker.",
      ahead: 0,
      ahead_is_more: false,
      gates: [
        {
          gate: "state",
          holds: false,
          message: "It has not finished.",
          figures: { state: "waiting", attempt: 0, attempts: 3, spared: 0, started_at: null, finished_at: null },
        },
        {
          gate: "nodes",
          holds: false,
          message: "1 node is alive.",
          figures: { alive: 1, last_seen_at: expect.stringMatching(/Z$/) },
        },
        { gate: "due", holds: false, message: `It was due at ${NOON}.`, figures: { run_at: NOON } },
        {
          gate: "approval",
          holds: false,
          message: "The queue needs no approval.",
          figures: { decision: null, decide_at: null, on_timeout: null },
        },
        {
          gate: "queue_paused",
          holds: false,
          message: "The queue is not paused.",
          figures: { paused: false, paused_at: null, paused_by: null },
        },
        {
          gate: "plan",
          holds: false,
          message: "The plan enterprise includes callbacks.",
          figures: { plan: "enterprise", callbacks: true },
        },
        {
          gate: "handler",
          holds: true,
          message: "The queue has neither a callback_url nor a worker.",
          figures: { has_callback_url: false, worker_last_seen_at: null },
        },
        {
          gate: "circuit",
          holds: false,
          message: "The circuit is closed.",
          figures: { state: "closed", opened_at: null, next_probe_at: null, may_probe: false, last_error: null },
        },
        {
          gate: "key_concurrency",
          holds: false,
          message: "It has no concurrencyKey.",
          figures: { key: null, limit: 1, active: null, oldest_job: null, oldest_started_at: null, ahead: null, ahead_is_more: false },
        },
        {
          gate: "queue_concurrency",
          holds: false,
          message: "The queue has no concurrency limit.",
          figures: { limit: null, in_flight: null, free: null, oldest_job: null, oldest_started_at: null, ahead: 0 },
        },
        {
          gate: "rate_limit",
          holds: false,
          message: "The queue has no rate limit.",
          figures: { max: null, per_seconds: null, started: null, free: null, opens_at: null },
        },
        {
          gate: "workspace_share",
          holds: false,
          message: "The workspace's share of this node has room.",
          figures: { used_up: [] },
        },
        {
          gate: "quota",
          holds: false,
          message: "The workspace has no quota.",
          figures: { used: 1, limit: null, resets_at: "2026-12-01T00:00:00.000Z" },
        },
      ],
      estimated_start: null,
    });
    expect((await explain(service, job)).gates.map(({ gate }) => gate)).toEqual(GATES);
  });

  test("an explanation knows of a queue that a known worker begins to ask for", async ({ service }) => {
    const [first, second] = [await service.queue(), await service.queue({ paused: true })];
    await service.ok("POST", "/v1/work", { worker: "w1", queues: [first] });
    const job = await service.enqueue({ queue: second });
    expect((await explain(service, job)).held_by).toEqual(["queue_paused", "handler"]);
    await service.ok("POST", "/v1/work", { worker: "w1", queues: [first, second] });
    await until(async () => (await explain(service, job)).held_by.join() === "queue_paused", "the worker to be known");
  });

  test("an explanation of a job that is running says so, and that nothing holds it", async ({ service }) => {
    const { queue } = await service.handler({ answers: "hang", concurrency: 1, rate_limit: { max: 1, per_seconds: 60 } });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "active");
    await service.ok("PATCH", `/v1/queues/${queue}`, { paused: true });
    expect(await explain(service, job)).toMatchObject({
      state: "active",
      held_by: [],
      summary: "Running: attempt 1 of 3 started just now.",
      ahead: null,
      estimated_start: null,
    });
  });

  test("an explanation of a finished job says so, and that nothing else holds it", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 1 } });
    const failed = await service.enqueue({ queue: handler.queue });
    await service.untilState(failed, "failed");
    handler.answers = 200;
    const completed = await service.enqueue({ queue: handler.queue });
    await service.untilState(completed, "completed");
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    for (const [job, state, summary] of [
      [
        failed,
        "failed",
        `Failed just now, after 1 of 1 attempts. The error was HTTP_STATUS: ${(await service.job(failed)).last_error.message} It is in the dead-letter queue.`,
      ],
      [completed, "completed", "Completed just now, on attempt 1 of 1."],
    ]) {
      const explained = await explain(service, job);
      expect(explained).toMatchObject({
        state,
        held_by: ["state"],
        summary,
        ahead: null,
        estimated_start: null,
      });
      expect(gateOf(explained, "state").figures).toMatchObject({ attempt: 1, started_at: NOON, finished_at: NOON });
    }
  });

  test("an explanation of a job between two attempts says when the next is due", async ({ service }) => {
    const { queue } = await service.handler({ answers: 500, defaultJobOptions: { backoff: { delay: 60_000 } } });
    const job = await service.enqueue({ queue });
    await service.untilState(job, "delayed");
    const { run_at, last_error } = await service.job(job);
    // A fifth of jitter at most.
    const seconds = Math.ceil((momentMs(run_at) - service.clock.nowMs()) / 1000);
    const inTime = seconds > 60 ? `1 min ${seconds - 60} s` : "1 min";
    expect(await explain(service, job)).toMatchObject({
      held_by: ["due"],
      summary: `Not running: attempt 2 of 3 is due in ${inTime} (${run_at}). The last attempt failed with HTTP_STATUS: ${last_error.message}`,
      ahead: 0,
      estimated_start: run_at,
    });
  });
});

describe("the gate", () => {
  test("the gate approval says what becomes of a job that nobody decides", async ({ service }) => {
    const queue = await service.queue({ type: "approval", approval: { timeout: 60, on_timeout: "approve" } });
    const job = await service.enqueue({ queue });
    expect(gateOf(await explain(service, job), "approval")).toMatchObject({
      holds: true,
      message:
        "It has waited for approval since it was enqueued just now and is approved in 1 min (2026-11-21T12:01:00.000Z) if nobody decides.",
      figures: { decision: null, decide_at: "2026-11-21T12:01:00.000Z", on_timeout: "approve" },
    });
  });

  test("the gate circuit says when the next probe goes, and whether it is this job", async ({ service, database }) => {
    const { queue } = await service.handler({ paused: true });
    const [first, second] = [await service.enqueue({ queue }), await service.enqueue({ queue })];
    await putCircuit(database, await laneOf(service, queue));
    const last_error = { code: "TIMEOUT", message: "Too slow.", status: null };
    const open = { state: "open", opened_at: NOON, next_probe_at: NOON, last_error };
    expect(gateOf(await explain(service, first), "circuit")).toEqual({
      gate: "circuit",
      holds: false,
      message: "The circuit is open (TIMEOUT) and this job is the next probe.",
      figures: { ...open, may_probe: true },
    });
    expect(gateOf(await explain(service, second), "circuit")).toEqual({
      gate: "circuit",
      holds: true,
      message: "The circuit is open (TIMEOUT) and a job before it is the next probe. 1 job goes before it.",
      figures: { ...open, may_probe: false },
    });
  });

  test("the gate plan says that callbacks are stopped, where there are any", async ({ service, database }) => {
    const { queue } = await service.handler({ paused: true });
    const [called, pulled] = [await service.enqueue({ queue }), await service.enqueue({ queue: await service.queue() })];
    await database.query(
      "update workspace set plan = 'free' where id = (select workspace_id from lane where name = $1 order by id desc limit 1)",
      [queue],
    );
    expect(gateOf(await explain(service, called), "plan")).toMatchObject({
      holds: true,
      message: "The plan free does not include callbacks.",
      figures: { plan: "free", callbacks: false },
    });
    expect(gateOf(await explain(service, pulled), "plan")).toMatchObject({
      holds: false,
      message: "The plan free does not include callbacks.",
    });
  });

  test("the gate key_concurrency says how many of its key are active, and how many go before it", async ({ service }) => {
    const handler = await service.handler({ answers: "hang" });
    const jobs = [];
    for (let count = 0; count < 3; count += 1) jobs.push(await service.enqueue({ queue: handler.queue, concurrencyKey: "customer-7" }));
    await service.untilState(jobs[0], "active");
    expect(gateOf(await explain(service, jobs[0]), "key_concurrency")).toMatchObject({
      holds: false,
      figures: { key: "customer-7", limit: 1, active: 1, ahead: null },
    });
    expect(gateOf(await explain(service, jobs[2]), "key_concurrency")).toEqual({
      gate: "key_concurrency",
      holds: true,
      message: `Its concurrencyKey has 1 of 1 allowed jobs active (${jobs[0].id} has run for 1 s) and 1 job ahead of it.`,
      figures: {
        ...{ key: "customer-7", limit: 1, active: 1, ahead: 1, ahead_is_more: false },
        ...{ oldest_job: jobs[0].id, oldest_started_at: NOON },
      },
    });
  });

  test("the gate queue_concurrency says how many are in flight, and how many go before it", async ({ service }) => {
    const handler = await service.handler({ answers: "hang", concurrency: 2 });
    const jobs = [];
    for (let count = 0; count < 4; count += 1) jobs.push(await service.enqueue({ queue: handler.queue }));
    await until(() => handler.received.length === 2, "two jobs to be in flight");
    expect(gateOf(await explain(service, jobs[2]), "queue_concurrency")).toEqual({
      gate: "queue_concurrency",
      holds: true,
      message: `The queue has 2 of 2 allowed jobs in flight (${jobs[0].id} has run longest: 1 s).`,
      figures: { limit: 2, in_flight: 2, free: 0, oldest_job: jobs[0].id, oldest_started_at: NOON, ahead: 0 },
    });
    expect(gateOf(await explain(service, jobs[3]), "queue_concurrency").figures).toMatchObject({ ahead: 1 });
  });

  test("the gate rate_limit says how many have started, and when more may", async ({ service }) => {
    const handler = await service.handler({ rate_limit: { max: 2, per_seconds: 60 } });
    const jobs = [];
    for (let count = 0; count < 4; count += 1) jobs.push(await service.enqueue({ queue: handler.queue }));
    await service.untilState(jobs[1], "completed");
    const explained = await explain(service, jobs[3]);
    expect(explained).toMatchObject({ held_by: ["rate_limit"], ahead: 1, estimated_start: "2026-11-21T12:01:00.000Z" });
    expect(gateOf(explained, "rate_limit")).toEqual({
      gate: "rate_limit",
      holds: true,
      message:
        "The queue has started 2 of 2 allowed attempts in the last 60 s and may start the next in 1 min (2026-11-21T12:01:00.000Z). 1 job goes before it.",
      figures: { max: 2, per_seconds: 60, started: 2, free: 0, opens_at: "2026-11-21T12:01:00.000Z" },
    });
  });

  test("the gate quota tells what is used of the month, and holds nothing", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 1 });
    const job = await limited.enqueue({ queue: await limited.queue() });
    expect(gateOf(await explain(limited, job), "quota")).toEqual({
      gate: "quota",
      holds: false,
      message: "1 of the month's 1 executions are used. The quota does not hold jobs that were accepted.",
      figures: { used: 1, limit: 1, resets_at: "2026-12-01T00:00:00.000Z" },
    });
  });
});

test("a job that only waits for its moment is estimated to start then", async ({ service }) => {
  const { queue } = await service.handler();
  const job = await service.enqueue({ queue, delay: 29 });
  expect(await explain(service, job)).toMatchObject({
    held_by: ["due"],
    summary: "Not running: it is due in 29 s.",
    estimated_start: toMoment(service.clock.nowMs() + 29_000),
  });
  await service.advance(10);
  expect((await explain(service, job)).summary).toBe("Not running: it is due in 19 s.");
  const unhandled = await service.enqueue({ queue: await service.queue(), delay: 29 });
  expect(await explain(service, unhandled)).toMatchObject({
    held_by: ["due", "handler"],
    summary: "Not running: it is due in 29 s, and the queue has neither a callback_url nor a worker.",
    estimated_start: null,
  });
});

test("the gate queue_paused says who paused the queue and when, if the queue was not created so", async ({ service }) => {
  const { queue } = await service.handler();
  await service.ok("PATCH", `/v1/queues/${queue}`, { paused: true });
  const pausedAt = toMoment(service.clock.nowMs());
  await service.advance(20);
  await service.ok("PATCH", `/v1/queues/${queue}`, { paused: true, concurrency: 5 });
  const { data } = await service.ok("GET", "/v1/audit-events?event_type=queue.updated");
  const by = data[0].actor_id;
  expect(gateOf(await explain(service, await service.enqueue({ queue })), "queue_paused")).toEqual({
    gate: "queue_paused",
    holds: true,
    message: `The queue was paused 20 s ago by ${by}.`,
    figures: { paused: true, paused_at: pausedAt, paused_by: by },
  });
  const created = await service.enqueue({ queue: await service.queue({ paused: true }) });
  expect(gateOf(await explain(service, created), "queue_paused")).toMatchObject({
    message: "The queue is paused.",
    figures: { paused: true, paused_at: null, paused_by: null },
  });
});

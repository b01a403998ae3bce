import { describe, expect } from "vitest";
import type { Database } from "#kernel";
import { foldUsageAcrossWorkspaces } from "../../src/usage/fold.ts";
import { test } from "../harness/engine.ts";
import { faultsOf } from "../harness/problem.ts";
import { type Service, until } from "../harness/service.ts";
import { putWorkflow } from "../harness/workflows.ts";

const DAY = 86_400;
const attempts = (succeeded: number, failed: number) => ({ total: succeeded + failed, succeeded, failed });
const deltas = async ({ database, key }: Service): Promise<number> =>
  (
    await database.query<{ n: number }>(
      "select count(*)::int as n from usage_delta where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))",
      [key],
    )
  )[0]?.n ?? 0;

/** Folds all that there is. The node's own loop may have begun to fold a part of it. */
async function foldAll(service: Service, engine: Database): Promise<void> {
  await foldUsageAcrossWorkspaces(engine);
  await until(async () => (await deltas(service)) === 0, "all usage to be folded");
}

/** Creates a good queue with two jobs, and a bad one whose job fails twice. Returns their names. */
async function work(service: Service): Promise<[string, string]> {
  const good = await service.handler();
  const bad = await service.handler({ answers: 500, defaultJobOptions: { attempts: 2 } });
  await service.ok("POST", `/v1/queues/${good.queue}/jobs/batch`, [{ payload: 1 }, { payload: 2 }]);
  await service.enqueue({ queue: bad.queue });
  await service.untilIdle();
  return [good.queue, bad.queue];
}

describe("usage", () => {
  test("runs of workflows are executions, and neither attempts nor a queue, folded or not", async ({ service, engine }) => {
    const { id, trigger, take, end } = await putWorkflow(service);
    await service.ok("POST", "/v1/queues", { name: id });
    await service.enqueue({ queue: id });
    for (let run = 0; run < 2; run += 1) await trigger();
    await end(await take(), { outcome: "failed", error: "It broke." });
    await end(await take(), { outcome: "completed" });
    const usage = {
      executions: { total: 3, jobs: 1, schedules: 0, workflows: 2 },
      attempts: attempts(0, 0),
      by_queue: [{ queue: id, executions: 1, attempts: attempts(0, 0) }],
      by_day: [{ executions: 3, attempts: attempts(0, 0) }],
    };
    expect(await service.ok("GET", "/v1/usage")).toMatchObject(usage);
    await foldUsageAcrossWorkspaces(engine);
    expect(await service.ok("GET", "/v1/usage")).toMatchObject(usage);
  });

  test("usage is what was accepted and attempted in the month, by queue and by day, folded or not", async ({ service, engine, clock }) => {
    const now = clock.nowMs();
    const [good, bad] = await work(service);
    const first = [
      { day: "2026-11-21", executions: 3, attempts: attempts(2, 2) },
      { day: "2026-11-22", executions: 1, attempts: attempts(0, 0) },
    ];
    await clock.set(now + DAY * 1000);
    const quiet = await service.queue();
    await service.enqueue({ queue: quiet });
    const usage = {
      period: { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" },
      plan: "enterprise",
      executions: { total: 4, limit: null, remaining: null, jobs: 4, schedules: 0, workflows: 0 },
      attempts: attempts(2, 2),
      by_queue: [
        { queue: good, executions: 2, attempts: attempts(2, 0) },
        { queue: bad, executions: 1, attempts: attempts(0, 2) },
        { queue: quiet, executions: 1, attempts: attempts(0, 0) },
      ],
      by_day: first,
    };
    await until(async () => (await service.ok("GET", "/v1/usage")).attempts.total === 4, "the attempts to be counted");
    expect(await service.ok("GET", "/v1/usage")).toEqual(usage);
    await foldAll(service, engine);
    expect(await service.ok("GET", "/v1/usage")).toEqual(usage);
    await service.enqueue({ queue: quiet });
    await foldUsageAcrossWorkspaces(engine);
    expect(await service.ok("GET", "/v1/usage?period=2026-11")).toMatchObject({ executions: { total: 5 }, attempts: attempts(2, 2) });
    await clock.set(now);
  });

  test("usage outlives the queue, under its name, and joins a new queue of that name", async ({ service, engine }) => {
    const queue = await service.queue();
    const once = [{ queue, executions: 1, attempts: attempts(0, 0) }];
    await service.enqueue({ queue });
    await service.ok("DELETE", `/v1/queues/${queue}`);
    expect((await service.ok("GET", "/v1/usage")).by_queue).toEqual(once);
    await foldUsageAcrossWorkspaces(engine);
    await service.advance(120);
    await until(async () => {
      service.node.wake();
      return (await service.database.query("select from lane where name = $1 and deleted_at is not null", [queue])).length === 0;
    }, "the queue to be swept");
    expect((await service.ok("GET", "/v1/usage")).by_queue).toEqual(once);
    await service.ok("POST", "/v1/queues", { name: queue });
    await service.enqueue({ queue });
    expect((await service.ok("GET", "/v1/usage")).by_queue).toEqual([{ ...once[0], executions: 2 }]);
  });

  test("usage is the same at every moment, though several nodes fold it while more is accepted", async ({ service, engine }) => {
    const queue = await service.queue();
    let accepted = 0;
    const totals: [number, number][] = [];
    await Promise.all([
      ...Array.from({ length: 4 }, async () => {
        for (let round = 0; round < 25; round += 1) await foldUsageAcrossWorkspaces(engine);
      }),
      ...Array.from({ length: 8 }, async () => {
        for (let round = 0; round < 12; round += 1) {
          await service.enqueue({ queue });
          accepted += 1;
          const before = accepted;
          totals.push([before, (await service.ok("GET", "/v1/usage")).executions.total]);
        }
      }),
    ]);
    for (const [before, total] of totals) expect(total).toBeGreaterThanOrEqual(before);
    await foldAll(service, engine);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(96);
    const days = await service.database.query(
      "select from usage_day d join lane q on q.workspace_id = d.workspace_id and q.id = d.lane_id where q.name = $1 and d.jobs = 96",
      [queue],
    );
    expect(days).toHaveLength(1);
  });

  test("usage of another month is asked for by its name", async ({ service, clock }) => {
    const now = clock.nowMs();
    await service.enqueue({ queue: await service.queue() });
    await clock.set(Date.UTC(2027, 0, 1));
    const empty = { executions: { total: 0, jobs: 0 }, attempts: attempts(0, 0), by_queue: [], by_day: [] };
    expect(await service.ok("GET", "/v1/usage")).toMatchObject({ period: { start: "2027-01-01T00:00:00.000Z" }, ...empty });
    expect(await service.ok("GET", "/v1/usage?period=2026-12")).toMatchObject({
      period: { start: "2026-12-01T00:00:00.000Z", end: "2027-01-01T00:00:00.000Z" },
      ...empty,
    });
    expect(await service.ok("GET", "/v1/usage?period=2026-11")).toMatchObject({ executions: { total: 1 } });
    for (const period of ["2026-13", "2026", "11-2026", "2026-1", ""]) {
      expect([period, ...faultsOf(await service.api("GET", `/v1/usage?period=${period}`), "VALIDATION_ERROR")]).toEqual([period]);
    }
    await clock.set(now);
  });

  test("usage does not count what was taken back: an attempt that its node gave up", async ({ service }) => {
    const handler = await service.handler({ answers: "hang", callback_timeout: 900 });
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.received.length === 1, "the job to be under way");
    await service.ok("DELETE", `/v1/queues/${handler.queue}/jobs/${job.id}`);
    expect(await service.ok("GET", "/v1/usage")).toMatchObject({ executions: { total: 1 }, attempts: attempts(0, 0) });
  });
});

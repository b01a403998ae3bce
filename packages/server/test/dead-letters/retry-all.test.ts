import { describe, expect } from "vitest";
import { rows, sql, type Transactional } from "#kernel";
import type { LaneId } from "#lanes";
import { retryDeadLetters } from "../../src/dead-letters/retry.ts";
import { auditLog } from "../harness/audit.ts";
import { laneOf, putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { type Service, until } from "../harness/service.ts";

const retryAll = (service: Service, queue: string, body?: unknown) => service.api("POST", `/v1/queues/${queue}/retry-all`, body);

/** A job that failed now. */
async function failedJob(service: Service, queue: string, fields: object = {}): Promise<{ id: string; queue: string }> {
  const job = await service.enqueue({ queue, attempts: 1, ...fields });
  await service.untilState(job, "failed");
  return job;
}

async function statesOf(service: Service, jobs: { id: string; queue: string }[]): Promise<string[]> {
  return Promise.all(jobs.map(async (job) => (await service.job(job)).state));
}

describe("retry-all", () => {
  test("retry-all moves the failed jobs of its queue to wait with fresh attempts, and no others", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const other = await service.handler({ answers: 410 });
    const mine = [await failedJob(service, handler.queue), await failedJob(service, handler.queue, { attempts: 3 })];
    const theirs = await failedJob(service, other.queue);
    handler.answers = 200;
    const reply = await retryAll(service, handler.queue);
    expect([reply.status, reply.body]).toEqual([200, { retried: 2 }]);
    await until(async () => (await statesOf(service, mine)).every((state) => state === "completed"), "the jobs to complete");
    expect(await service.job(mine[1] as { id: string; queue: string })).toMatchObject({ attempt: 2, attempts: 4 });
    expect((await service.job(theirs)).state).toBe("failed");
  });

  test("retry-all answers how many there were: none of none", async ({ service }) => {
    expect((await retryAll(service, await service.queue(), {})).body).toEqual({ retried: 0 });
  });

  test("retry-all takes only jobs with the tag", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const jobs = [
      await failedJob(service, handler.queue, { tag: "a" }),
      await failedJob(service, handler.queue, { tag: "b" }),
      await failedJob(service, handler.queue),
    ];
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    expect((await retryAll(service, handler.queue, { tag: "a" })).body).toEqual({ retried: 1 });
    expect(await statesOf(service, jobs)).toEqual(["waiting", "failed", "failed"]);
  });

  test("retry-all takes only jobs that failed in the time given: from failed_after on, before failed_before", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    const jobs: { id: string; queue: string }[] = [];
    const moments: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      await service.advance(10);
      moments.push(new Date(service.clock.nowMs()).toISOString());
      jobs.push(await failedJob(service, handler.queue));
    }
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    expect((await retryAll(service, handler.queue, { failed_after: moments[1], failed_before: moments[3] })).body).toEqual({ retried: 2 });
    expect(await statesOf(service, jobs)).toEqual(["failed", "waiting", "waiting", "failed"]);
    expect((await retryAll(service, handler.queue, { failed_before: moments[1] })).body).toEqual({ retried: 1 });
    expect((await retryAll(service, handler.queue, { failed_after: moments[3] })).body).toEqual({ retried: 1 });
    expect(await statesOf(service, jobs)).toEqual(["waiting", "waiting", "waiting", "waiting"]);
  });

  test("retry-all applies all its filters at once", async ({ service }) => {
    const handler = await service.handler({ answers: 410 });
    await failedJob(service, handler.queue, { tag: "a" });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: true });
    const now = new Date(service.clock.nowMs()).toISOString();
    expect((await retryAll(service, handler.queue, { tag: "a", failed_before: now })).body).toEqual({ retried: 0 });
    expect((await retryAll(service, handler.queue, { tag: "b", failed_after: now })).body).toEqual({ retried: 0 });
    expect((await retryAll(service, handler.queue, { tag: "a", failed_after: now })).body).toEqual({ retried: 1 });
  });

  test.for([
    "2026-11-21T12:00:00.123456789+05:30",
    "2026-11-21t12:00:00z",
    "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-12:00",
  ])("retry-all takes any moment that it does not refuse: %s", async (moment, { service }) => {
    const queue = await service.queue();
    for (const filter of ["failed_before", "failed_after"])
      expect((await retryAll(service, queue, { [filter]: moment })).body).toEqual({ retried: 0 });
  });

  test.for<[string, object]>([
    ["a moment that is none", { failed_before: "yesterday" }],
    ["a moment farther east than anywhere", { failed_before: "2026-11-21T12:00:00+24:00" }],
    ["an unknown filter", { error: "TIMEOUT" }],
    ["a tag that is no text", { tag: 1 }],
    ["a list", []],
  ])("retry-all refuses %s", async ([, body], { service }) => {
    const reply = await retryAll(service, await service.queue(), body);
    expect([reply.status, reply.body.error.code]).toEqual([400, "VALIDATION_ERROR"]);
  });

  test("retry-all of a queue that does not exist is NOT_FOUND", async ({ service }) => {
    expect((await retryAll(service, "nowhere")).status).toBe(404);
  });

  test("retry-all takes more jobs than one statement does, each once, though they fail again meanwhile", async ({
    database,
    clock,
    engine,
  }) => {
    const lane = await putLane(database, { paused: true });
    const count = 5_500;
    await putJobs(database, lane, { state: "failed", count });
    // Between two transactions a second passes. In it, the retried jobs fail again.
    const failing: Transactional = {
      query: (statement) => engine.query(statement),
      transaction: async (work) => {
        const answer = await engine.transaction(work);
        await clock.advance(1);
        await rows(
          engine,
          sql`update job set state = 'failed', attempt = attempt + 1, finished_at = moment() where lane_id = ${lane.laneId} and state = 'waiting'`,
        );
        return answer;
      },
    };
    const woken = new Set<LaneId>();
    const retried = await retryDeadLetters(
      failing,
      { audit: auditLog, actorId: "operator", resourceType: "queue", resourceId: "emails", input: {} },
      { ...lane, filter: {} },
      (lanes) => {
        for (const { laneId } of lanes) woken.add(laneId);
      },
    );
    expect(retried).toBe(count);
    expect([...woken]).toEqual([lane.laneId]);
    expect(await database.query("select attempt, count(*)::int from job where lane_id = $1 group by 1", [lane.laneId])).toEqual([
      { attempt: 4, count },
    ]);
  });

  test("retry-all is not held up by a job that somebody is moving", async ({ service, database, engine }) => {
    const queue = await service.queue();
    const lane = await laneOf(service, queue);
    const [held] = await putJobs(database, lane, { state: "failed", count: 2 });
    await engine.transaction(async (tx) => {
      await rows(tx, sql`select from job where id = ${held} for update`);
      expect((await retryAll(service, queue)).body).toEqual({ retried: 1 });
    });
  });
});

import { setImmediate } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type Database, sql } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import { laneOf, test, uuidOfJob } from "../harness/engine.ts";
import type { Answer } from "../harness/handler.ts";
import { inTurn } from "../harness/in-turn.ts";
import { type Service, until } from "../harness/service.ts";

/** So many meet by chance; of each order in which the two can come, one more is made. */
const JOBS = 120;
const FORCED = ["answer", "cancel"] as const;

interface Outcome {
  readonly job: { id: string; queue: string };
  readonly reply: Reply;
  readonly attempts: number[];
}

const rowOf = (job: { id: string }) => sql`select from job where id = ${uuidOfJob(job)} for update`;

/** Jobs whose handler answers while their DELETE is under way; what each DELETE was answered. */
async function race(service: Service, engine: Database, answer: Answer, options: Record<string, unknown>): Promise<Outcome[]> {
  const deleted = new Map<string, Promise<Reply>>();
  const cancel = ({ id, queue }: { id: string; queue: string }) => deleted.set(id, service.api("DELETE", `/v1/queues/${queue}/jobs/${id}`));
  const held = new Map<unknown, { arrived: PromiseWithResolvers<void>; answered: PromiseWithResolvers<Answer> }>(
    FORCED.map((first) => [first, { arrived: Promise.withResolvers(), answered: Promise.withResolvers() }]),
  );
  const handler = await service.handler({
    answers: async ({ body: { id, queue, payload } }) => {
      const forced = held.get(payload);
      forced?.arrived.resolve();
      if (forced) return forced.answered.promise;
      if (!deleted.has(id)) cancel({ id, queue });
      // Some answer at once, others later than the service needs for the DELETE: the two meet at every point in between.
      for (let turn = 0; turn < Number(payload) % 40; turn += 1) await setImmediate();
      return answer;
    },
  });
  const jobs = Array.from({ length: JOBS }, (_, index) => ({ payload: index, ...options }));
  const { jobs: enqueued } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, { jobs });
  await until(() => deleted.size === JOBS, "every job to be raced for");
  await Promise.all(deleted.values());
  await service.untilIdle();
  for (const [first, { arrived, answered }] of held) {
    const job = await service.enqueue({ queue: handler.queue, payload: first, ...options });
    enqueued.push(job);
    await arrived.promise;
    const steps = [() => answered.resolve(answer), () => cancel(job)];
    await inTurn(engine, rowOf(job), first === "answer" ? steps : steps.toReversed());
    await deleted.get(job.id);
  }
  await service.untilIdle();
  const replies = new Map(await Promise.all([...deleted].map(async ([id, reply]) => [id, await reply] as const)));
  return enqueued.map((job: { id: string; queue: string }) => ({
    job,
    reply: replies.get(job.id),
    attempts: handler.received.filter(({ body }) => body.id === job.id).map(({ body }) => body.attempt),
  }));
}

/** The job was cancelled completely: its state stays cancelled, and its record shows every attempt that started. */
async function expectCancelled(service: Service, job: { id: string; queue: string }, reply: Reply, attempts: number[]): Promise<void> {
  expect(reply.body).toMatchObject({ id: job.id, state: "cancelled" });
  const record = await service.job(job);
  expect(record).toMatchObject({ state: "cancelled", attempt: reply.body.attempt, result: null, finished_at: reply.body.finished_at });
  expect(record.attempts_log.map(({ attempt }: { attempt: number }) => attempt)).toEqual(
    Array.from({ length: record.attempt }, (_, index) => index + 1),
  );
  expect(attempts).toEqual([...new Set(attempts)]);
  expect(Math.max(...attempts)).toBeLessThanOrEqual(record.attempt);
}

async function countsOf(service: Service, queue: string): Promise<Record<string, number>> {
  return (await service.ok("GET", `/v1/queues/${queue}`)).metrics;
}

describe("a cancel at the same moment as the answer has exactly one winner", () => {
  test("a cancel at the same moment as an answer that completes the job cancels it for good, or removes it completed", async ({
    service,
    engine,
  }) => {
    const outcomes = await race(service, engine, 200, {});
    for (const { job, reply, attempts } of outcomes) {
      expect(attempts).toEqual([1]);
      if (reply.status === 200) await expectCancelled(service, job, reply, attempts);
      else expect([reply.status, (await service.api("GET", `/v1/queues/${job.queue}/jobs/${job.id}`)).status]).toEqual([204, 404]);
    }
    expect(new Set(outcomes.map(({ reply }) => reply.status))).toEqual(new Set([200, 204]));
    const cancelled = outcomes.filter(({ reply }) => reply.status === 200).length;
    expect(await countsOf(service, outcomes[0]?.job.queue ?? "")).toMatchObject({
      cancelled,
      completed: 0,
      waiting: 0,
      delayed: 0,
      active: 0,
      failed: 0,
    });
  });

  test("a cancel at the same moment as an answer that fails the job for good cancels it, or removes it failed", async ({
    service,
    engine,
  }) => {
    const outcomes = await race(service, engine, 410, {});
    for (const { job, reply, attempts } of outcomes) {
      expect(attempts).toEqual([1]);
      if (reply.status === 200) await expectCancelled(service, job, reply, attempts);
      else expect([reply.status, (await service.api("GET", `/v1/queues/${job.queue}/jobs/${job.id}`)).status]).toEqual([204, 404]);
    }
    expect(new Set(outcomes.map(({ reply }) => reply.status))).toEqual(new Set([200, 204]));
    expect(await countsOf(service, outcomes[0]?.job.queue ?? "")).toMatchObject({
      completed: 0,
      waiting: 0,
      delayed: 0,
      active: 0,
      failed: 0,
    });
  });

  test("a cancel at the same moment as an answer that asks for another attempt always cancels the job, and it is never tried again", async ({
    service,
    engine,
  }) => {
    // Not a 5xx: those open the queue's circuit, and the jobs behind it are not raced for.
    const outcomes = await race(service, engine, 429, { attempts: 100, backoff: { delay: 0 } });
    const ends = new Set<string>();
    for (const { job, reply, attempts } of outcomes) {
      expect(reply.status).toBe(200);
      await expectCancelled(service, job, reply, attempts);
      ends.add((await service.job(job)).attempts_log.at(-1).outcome);
    }
    // The attempt was cancelled, or its answer came first.
    expect(ends).toEqual(new Set(["cancelled", "failed"]));
    expect(await countsOf(service, outcomes[0]?.job.queue ?? "")).toMatchObject({
      cancelled: JOBS + FORCED.length,
      completed: 0,
      waiting: 0,
      delayed: 0,
      active: 0,
      failed: 0,
    });
  });
});

describe("two cancels at the same moment", () => {
  test("two cancels at the same moment cancel the job once and remove it once", async ({ service }) => {
    const queue = await service.queue();
    const { jobs } = await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 50 }, () => ({ payload: {} })),
    );
    for (const { id } of jobs) {
      const path = `/v1/queues/${queue}/jobs/${id}`;
      const replies = await Promise.all([service.api("DELETE", path), service.api("DELETE", path), service.api("DELETE", path)]);
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 204, 404]);
    }
    expect(await countsOf(service, queue)).toMatchObject({ cancelled: 0, waiting: 0 });
  });

  test("a removal at the same moment as a retry leaves the job in one place", async ({ service, database, engine }) => {
    const queue = await service.queue();
    const { jobs } = await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 50 }, () => ({ payload: {} })),
    );
    const retries = new Set<number>();
    for (const [index, { id }] of jobs.entries()) {
      const path = `/v1/queues/${queue}/jobs/${id}`;
      await service.ok("DELETE", path);
      const replies: Promise<Reply>[] = [];
      const retry = () => (replies[0] = service.api("POST", `${path}/retry`));
      const remove = () => (replies[1] = service.api("DELETE", path));
      // Of the first two jobs, one is retried first and one removed first. The others meet by chance.
      const row = sql`select from job_history where id = ${uuidOfJob({ id })} for update`;
      if (index < 2) await inTurn(engine, row, index === 0 ? [retry, remove] : [remove, retry]);
      else for (const begin of [retry, remove]) begin();
      const [retried, removed] = (await Promise.all(replies)) as [Reply, Reply];
      retries.add(retried.status);
      expect([
        [200, 200],
        [200, 204],
        [404, 204],
      ]).toContainEqual([retried.status, removed.status]);
    }
    expect(retries).toEqual(new Set([200, 404]));
    const { laneId } = await laneOf(service, queue);
    const twice = await database.query("select id from job_record where lane_id = $1 group by id having count(*) > 1", [laneId]);
    expect(twice).toEqual([]);
  });
});

import { setImmediate } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { Reply } from "../harness/ask.ts";
import { laneOf } from "../harness/engine.ts";
import type { Answer } from "../harness/handler.ts";
import { type Service, test, until } from "../harness/service.ts";

const JOBS = 200;

/** Jobs whose handler responds while they are being deleted, and the response to each DELETE. */
async function race(
  service: Service,
  answer: Answer,
  options: Record<string, unknown>,
): Promise<{ job: { id: string; queue: string }; reply: Reply; attempts: number[] }[]> {
  const deleted = new Map<string, Promise<Reply>>();
  const handler = await service.handler({
    answers: async ({ body: { id, queue, payload } }) => {
      if (!deleted.has(id)) deleted.set(id, service.api("DELETE", `/v1/queues/${queue}/jobs/${id}`));
      // Some handlers respond at once, others after the DELETE: the two meet at every point in between.
      for (let turn = 0; turn < Number(payload) % 40; turn += 1) await setImmediate();
      return answer;
    },
  });
  const jobs = Array.from({ length: JOBS }, (_, index) => ({ payload: index, ...options }));
  const { jobs: enqueued } = await service.ok("POST", `/v1/queues/${handler.queue}/jobs/batch`, { jobs });
  await until(() => deleted.size === JOBS, "every job to be raced for");
  const replies = new Map(await Promise.all([...deleted].map(async ([id, reply]) => [id, await reply] as const)));
  await service.untilIdle();
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
  test("when the answer completes the job: cancelled for good, or completed and so removed", async ({ service }) => {
    const outcomes = await race(service, 200, {});
    for (const { job, reply, attempts } of outcomes) {
      expect(attempts).toEqual([1]);
      if (reply.status === 200) await expectCancelled(service, job, reply, attempts);
      else expect([reply.status, (await service.api("GET", `/v1/queues/${job.queue}/jobs/${job.id}`)).status]).toEqual([204, 404]);
    }
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

  test("when the answer fails the job for good: cancelled, or failed and so removed", async ({ service }) => {
    const outcomes = await race(service, 410, {});
    for (const { job, reply, attempts } of outcomes) {
      expect(attempts).toEqual([1]);
      if (reply.status === 200) await expectCancelled(service, job, reply, attempts);
      else expect([reply.status, (await service.api("GET", `/v1/queues/${job.queue}/jobs/${job.id}`)).status]).toEqual([204, 404]);
    }
    expect(await countsOf(service, outcomes[0]?.job.queue ?? "")).toMatchObject({
      completed: 0,
      waiting: 0,
      delayed: 0,
      active: 0,
      failed: 0,
    });
  });

  test("when the answer would have it tried again: always cancelled, and never tried again", async ({ service }) => {
    // Not a 5xx, which would open the queue's circuit. Then the remaining jobs would not start.
    const outcomes = await race(service, 429, { attempts: 100, backoff: { delay: 0 } });
    for (const { job, reply, attempts } of outcomes) {
      expect(reply.status).toBe(200);
      await expectCancelled(service, job, reply, attempts);
    }
    expect(await countsOf(service, outcomes[0]?.job.queue ?? "")).toMatchObject({
      cancelled: JOBS,
      completed: 0,
      waiting: 0,
      delayed: 0,
      active: 0,
      failed: 0,
    });
  });
});

describe("two cancels at the same moment", () => {
  test("cancel the job once and remove it once", async ({ service }) => {
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

  test("and a retry leave the job in one place", async ({ service, database }) => {
    const queue = await service.queue();
    const { jobs } = await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 50 }, () => ({ payload: {} })),
    );
    for (const { id } of jobs) {
      const path = `/v1/queues/${queue}/jobs/${id}`;
      await service.ok("DELETE", path);
      const [retried, removed] = await Promise.all([service.api("POST", `${path}/retry`), service.api("DELETE", path)]);
      expect([
        [200, 200],
        [200, 204],
        [404, 204],
      ]).toContainEqual([retried.status, removed.status]);
    }
    const { laneId } = await laneOf(service, queue);
    const twice = await database.query("select id from job_record where lane_id = $1 group by id having count(*) > 1", [laneId]);
    expect(twice).toEqual([]);
  });
});

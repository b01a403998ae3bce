import { describe, expect } from "vitest";
import { putNode, test, uuidOfJob } from "../harness/engine.ts";
import { stateOf } from "../harness/jobs.ts";
import { rescue } from "../harness/rescue.ts";
import { type Service, until } from "../harness/service.ts";

const LOST = { code: "NODE_LOST", message: expect.stringMatching(/\S/), status: null };

/** A node claims a waiting job of a paused queue, and then dies. This happens `times` times. */
async function loseNodes(service: Service, job: { id: string; queue: string }, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const dead = await putNode(service.database, { alive: false });
    const id = uuidOfJob(job);
    await service.database.query(
      "update job set state = 'active', attempt = attempt + 1, lease_id = $1, started_at = moment() where id = $2",
      [dead, id],
    );
    service.node.wake();
    await until(async () => (await service.job(job)).state !== "active", "the job to be taken back");
  }
}

async function pausedJob(service: Service, answers: number = 200, fields: object = {}) {
  const handler = await service.handler({ answers, paused: true });
  return {
    handler,
    job: await service.enqueue({ queue: handler.queue, ...fields }),
    resume: () => service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false }),
  };
}

describe("a job whose node is lost", () => {
  test("a job whose node is lost waits again, and the attempt is logged and spared", async ({ service }) => {
    const { job } = await pausedJob(service);
    await loseNodes(service, job, 1);
    const record = await service.job(job);
    expect(record).toMatchObject({ state: "waiting", attempt: 1, attempts: 4, finished_at: null, last_error: LOST, run_at: job.run_at });
    expect(record.attempts_log).toEqual([
      {
        attempt: 1,
        started_at: record.started_at,
        duration_ms: expect.any(Number),
        outcome: "lost",
        status: null,
        error: LOST,
        worker: null,
      },
    ]);
  });

  test("a job whose node is lost still has all its attempts", async ({ service }) => {
    const { handler, job, resume } = await pausedJob(service, 500, { attempts: 2 });
    await loseNodes(service, job, 2);
    await resume();
    await service.untilIdle();
    expect(handler.attempts).toEqual([3, 4]);
    expect(handler.received.map(({ body }) => body.attempts)).toEqual([4, 4]);
    expect((await service.job(job)).attempts_log.map(({ attempt, outcome }: Record<string, unknown>) => [attempt, outcome])).toEqual([
      [1, "lost"],
      [2, "lost"],
      [3, "failed"],
      [4, "failed"],
    ]);
  });

  test("a job whose node is lost for the third time goes to the dead-letter queue: NODE_LOST", async ({ service }) => {
    const { handler, job, resume } = await pausedJob(service);
    await loseNodes(service, job, 2);
    expect((await service.job(job)).state).toBe("waiting");
    await loseNodes(service, job, 1);
    const record = await service.job(job);
    expect(record).toMatchObject({
      state: "failed",
      attempt: 3,
      last_error: LOST,
      finished_at: new Date(service.clock.nowMs()).toISOString(),
    });
    expect(record.attempts_log.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["lost", "lost", "lost"]);
    expect((await service.ok("GET", "/v1/dlq?error=NODE_LOST")).data).toMatchObject([{ id: job.id }]);
    await resume();
    await service.untilState(await service.enqueue({ queue: handler.queue }), "completed");
    expect(handler.received).toHaveLength(1);
  });

  test("a job whose node is lost is not taken for its nodes' killer when an attempt ended in between", async ({ service }) => {
    const { job, resume } = await pausedJob(service, 500, { attempts: 5 });
    await loseNodes(service, job, 2);
    await resume();
    await service.untilState(job, "delayed");
    await service.ok("PATCH", `/v1/queues/${job.queue}`, { paused: true });
    await service.advance(3_600);
    await service.untilState(job, "waiting");
    await loseNodes(service, job, 2);
    expect(await service.job(job)).toMatchObject({ state: "waiting", attempt: 5 });
  });

  test("a job whose node is lost has three more losses after a retry by hand", async ({ service }) => {
    const { job } = await pausedJob(service);
    await loseNodes(service, job, 3);
    await service.ok("POST", `/v1/queues/${job.queue}/jobs/${job.id}/retry`);
    await loseNodes(service, job, 2);
    expect((await service.job(job)).state).toBe("waiting");
    await loseNodes(service, job, 1);
    expect((await service.job(job)).state).toBe("failed");
  });

  test("a job whose node is lost was under way for as long as it was, also when that is more than a minute", async ({
    service,
    engine,
  }) => {
    const { job } = await pausedJob(service);
    const dead = await putNode(service.database, { alive: false });
    await service.database.query(
      "update job set state = 'active', attempt = 1, lease_id = $1, started_at = moment() - interval '1 hour' where id = $2",
      [dead, uuidOfJob(job)],
    );
    await rescue(engine);
    // The node may have begun to take it back by itself.
    await until(async () => (await service.job(job)).state !== "active", "the job to be taken back");
    expect((await service.job(job)).attempts_log).toMatchObject([{ outcome: "lost", duration_ms: 3_600_000 }]);
  });
});

test("a node that is alive keeps its jobs, however long they take", async ({ service, engine, database }) => {
  const handler = await service.handler({ answers: "hang" });
  const job = await service.enqueue({ queue: handler.queue });
  await until(() => handler.open === 1, "the attempt");
  await service.clock.advance(86_400);
  await rescue(engine);
  expect(await stateOf(database, uuidOfJob(job))).toBe("active");
  handler.release();
  await service.untilState(job, "completed");
  expect(handler.attempts).toEqual([1]);
});

import { describe, expect, onTestFinished } from "vitest";
import { test } from "../harness/service.ts";
import { proofOf, type Taken, take, work } from "../harness/workers.ts";

describe("a worker", () => {
  test("takes a job as a callback would bring it, and settles it", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, payload: { big: 1 }, tag: "a" });
    const [job] = await take(service, queue);
    expect(job).toMatchObject({ id, queue, attempt: 1, attempts: 3, tag: "a", payload: { big: 1 }, schedule: null, scheduled_for: null });
    expect(await service.job({ queue, id })).toMatchObject({ state: "active", attempt: 1 });
    const { settled } = await work(service, { settle: [{ ...proofOf(job as Taken), outcome: "completed", result: { sent: true } }] });
    expect(settled).toEqual([{ id, ok: true, code: null, message: null }]);
    const done = await service.job({ queue, id });
    expect(done).toMatchObject({ state: "completed", result: { sent: true } });
    expect(done.attempts_log).toMatchObject([{ attempt: 1, outcome: "completed", worker: "w1", status: null }]);
  });

  test("counts the first of two outcomes of a job in one call", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const [job] = (await take(service, queue)) as [Taken];
    const { settled } = await work(service, {
      settle: [
        { ...proofOf(job), outcome: "completed", result: 1 },
        { ...proofOf(job), outcome: "failed", error: "later" },
      ],
    });
    expect(settled.map(({ code }) => code)).toEqual([null, "LEASE_LOST"]);
    expect(await service.job({ queue, id })).toMatchObject({ state: "completed", result: 1 });
  });

  test("is told that an outcome is stored when PostgreSQL refuses another one of its call", async ({ service, database }) => {
    const queue = await service.queue();
    for (const payload of ["stored", "refused"]) await service.enqueue({ queue, payload });
    const [stored, refused] = (await take(service, queue, { limit: 2 })) as [Taken, Taken];
    await database.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '22000'; end $$;
      create trigger refuse before update on job for each row when (new.state = 'delayed') execute function refuse()`);
    const { settled } = await work(service, {
      settle: [
        { ...proofOf(stored), outcome: "completed" },
        { ...proofOf(refused), outcome: "failed", error: "No." },
      ],
    });
    await database.query("drop function refuse cascade");
    expect(settled.map(({ ok }) => ok)).toEqual([true, true]);
    expect(await service.job({ queue, id: stored.id })).toMatchObject({ state: "completed" });
    expect(await service.job({ queue, id: refused.id })).toMatchObject({ state: "failed", last_error: { code: "NODE_LOST" } });
  });

  test("is told that its outcomes are stored when no job could be claimed for it", async ({ service, database }) => {
    const queue = await service.queue();
    for (const payload of ["first", "second"]) await service.enqueue({ queue, payload });
    const [first] = (await take(service, queue)) as [Taken];
    await database.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '57P03'; end $$;
      create trigger refuse before update on job for each row when (new.state = 'active') execute function refuse()`);
    onTestFinished(() => database.query("drop function if exists refuse cascade").then(() => {}));
    const ends = { queues: [queue], settle: [{ ...proofOf(first), outcome: "completed" }] };
    const { settled, jobs } = await work(service, ends);
    expect({ settled, jobs }).toMatchObject({ settled: [{ ok: true }], jobs: [] });
    await database.query("drop function refuse cascade");
    expect(await take(service, queue)).toMatchObject([{ payload: "second" }]);
  });

  test("settles and takes in one call", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, payload: 1 });
    await service.enqueue({ queue, payload: 2 });
    const [first] = await take(service, queue);
    const next = await work(service, { queues: [queue], settle: [{ ...proofOf(first as Taken), outcome: "completed" }] });
    expect(next.settled).toMatchObject([{ ok: true }]);
    expect(next.jobs.map(({ payload }) => payload)).toEqual([2]);
  });

  test("takes a backlog in parts, each job once, and then waits for the next one", async ({ service }) => {
    const queue = await service.queue();
    for (let payload = 1; payload <= 5; payload += 1) await service.enqueue({ queue, payload });
    const parts: unknown[] = [];
    for (let calls = 0; calls < 4; calls += 1) parts.push((await take(service, queue, { limit: 2 })).map(({ payload }) => payload));
    expect(parts).toEqual([[1, 2], [3, 4], [5], []]);
    const waiting = take(service, queue, { limit: 2, wait: 30 });
    await service.enqueue({ queue, payload: 6 });
    expect((await waiting).map(({ payload }) => payload)).toEqual([6]);
  });

  test("waits for a job, and gets it when it is enqueued", async ({ service }) => {
    const queue = await service.queue();
    const waiting = take(service, queue, { wait: 30 });
    await service.enqueue({ queue, payload: "late" });
    expect((await waiting).map(({ payload }) => payload)).toEqual(["late"]);
  });

  test("gets nothing at once when there is nothing", async ({ service }) => {
    expect(await take(service, await service.queue())).toEqual([]);
  });

  test("reports a failure: the job is tried again, with the error in its log", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, attempts: 2, backoff: { delay: 0 } });
    const [job] = await take(service, queue);
    await work(service, { settle: [{ ...proofOf(job as Taken), outcome: "failed", error: "no such address" }] });
    expect(await service.job({ queue, id })).toMatchObject({
      state: "delayed",
      last_error: { code: "WORKER_FAILED", message: "no such address", status: null },
    });
    await service.advance(60);
    const [again] = await take(service, queue, { wait: 20 });
    expect(again).toMatchObject({ id, attempt: 2 });
    await work(service, { settle: [{ ...proofOf(again as Taken), outcome: "failed" }] });
    expect(await service.job({ queue, id })).toMatchObject({ state: "failed" });
  });

  test("sends a job to the dead-letter queue at once when it wants no retry", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const [job] = await take(service, queue);
    await work(service, { settle: [{ ...proofOf(job as Taken), outcome: "failed", error: "bad", retry: false }] });
    expect(await service.job({ queue, id })).toMatchObject({ state: "failed" });
  });

  test("releases a job without using an attempt", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue, attempts: 1 });
    const [job] = await take(service, queue);
    await work(service, { settle: [{ ...proofOf(job as Taken), outcome: "released" }] });
    expect(await take(service, queue)).toMatchObject([{ id, attempt: 2, attempts: 2 }]);
  });

  test("may release a job any number of times: its log keeps the latest attempts", async ({ service }) => {
    const queue = await service.queue();
    const { id } = await service.enqueue({ queue });
    const entries =
      "select string_agg(json_build_object('attempt', n, 'outcome', 'released', 'worker', repeat('w', 80))::text, ',') as log";
    await service.database.query(
      `update job set attempt = 3000, spared = 3000, attempts_log = log from (${entries} from generate_series(1, 3000) n) e`,
    );
    const [job] = await take(service, queue);
    await work(service, { settle: [{ ...proofOf(job as Taken), outcome: "released" }] });
    const { attempts_log } = await service.ok("GET", `/v1/queues/${queue}/jobs/${id}`);
    const attempts = attempts_log.map(({ attempt }: { attempt: number }) => attempt);
    expect(attempts.at(-1)).toBe(3_001);
    expect(attempts).toEqual(Array.from(attempts, (_, at) => 3_001 - attempts.length + 1 + at));
    expect(JSON.stringify(attempts_log).length).toBeGreaterThan(120 * 1024);
    expect(JSON.stringify(attempts_log).length).toBeLessThan(140 * 1024);
  });

  test("takes jobs of several queues, up to its limit in all", async ({ service }) => {
    const queues = [await service.queue(), await service.queue()];
    for (const queue of queues) for (let n = 0; n < 5; n += 1) await service.enqueue({ queue });
    const { jobs } = await work(service, { queues, limit: 6 });
    expect(jobs).toHaveLength(6);
    expect((await work(service, { queues, limit: 100 })).jobs).toHaveLength(4);
  });
});

import { describe, expect } from "vitest";
import { test } from "../harness/circuits.ts";
import { until } from "../harness/service.ts";

describe("a probe", () => {
  test("a probe goes when its moment has come, and no sooner", async ({ service, stand }) => {
    const dead = await stand.open();
    await service.enqueue({ queue: dead.queue });
    await stand.passMs(999);
    await stand.look();
    expect(dead.received).toHaveLength(20);
    await stand.probe(dead);
    await stand.look();
    expect(dead.received).toHaveLength(21);
  });

  test("a probe is one job, however many wait", async ({ stand, service }) => {
    const dead = await stand.open();
    await stand.batch(dead, 30);
    dead.answers = "hang";
    await service.moveTo(Date.parse((await stand.circuit(dead)).next_probe_at));
    await until(() => dead.open === 1, "the probe");
    await stand.look();
    expect(await stand.metrics(dead)).toMatchObject({ active: 1, waiting: 29 });
    dead.release();
  });

  test("a probe that fails is followed by the next after twice the wait, to at most 30 seconds", async ({ stand }) => {
    const dead = await stand.open();
    await stand.batch(dead, 8);
    const waits: number[] = [];
    for (let failed = 0; failed < 7; failed += 1) {
      await stand.probe(dead);
      waits.push(Date.parse((await stand.circuit(dead)).next_probe_at) - stand.nowMs);
    }
    for (const [index, plainMs] of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(plainMs);
      expect(waits[index]).toBeLessThanOrEqual(plainMs * 1.2);
    }
  });

  test("a probe that fails uses no attempt: its job is logged and put off", async ({ service, stand }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue });
    await stand.probe(dead);
    const record = await service.job(job);
    expect(record).toMatchObject({
      state: "delayed",
      attempt: 1,
      attempts: 2,
      last_error: { code: "HTTP_STATUS", status: 500 },
      attempts_log: [{ attempt: 1, outcome: "failed", status: 500 }],
    });
  });

  test("a probe that is the only job is the next probe, too: a queue with one job comes back as soon as one with many", async ({
    service,
    stand,
  }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue, backoff: { delay: 3_600_000 } });
    for (let failed = 0; failed < 6; failed += 1) await stand.probe(dead);
    expect((await service.job(job)).run_at).toBe((await stand.circuit(dead)).next_probe_at);
    dead.answers = 200;
    await stand.probe(dead);
    expect(await service.job(job)).toMatchObject({ state: "completed", attempt: 7 });
  });

  test("a probe that fails puts its job off for no less than the job's own backoff, while others wait", async ({ service, stand }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue, backoff: { delay: 3_600_000 } });
    await stand.batch(dead, 1);
    await stand.probe(dead);
    expect(Date.parse((await service.job(job)).run_at) - stand.nowMs).toBeGreaterThanOrEqual(3_600_000);
  });

  test("a probe takes another job each time", async ({ stand }) => {
    const dead = await stand.open();
    await stand.batch(dead, 4);
    for (let failed = 0; failed < 4; failed += 1) await stand.probe(dead);
    expect(new Set(dead.received.slice(20).map(({ body }) => body.id)).size).toBe(4);
  });

  test("a probe comes to the good jobs in the end, however many bad ones there are, and of higher priority", async ({ service, stand }) => {
    const handler = await stand.open();
    handler.answers = ({ body }) => (body.payload === "bad" ? 500 : 200);
    for (let bad = 0; bad < 5; bad += 1) await service.enqueue({ queue: handler.queue, payload: "bad", priority: 100 });
    await service.enqueue({ queue: handler.queue, payload: "good" });
    for (let probes = 0; !handler.payloads.includes("good"); probes += 1) {
      expect(probes).toBeLessThan(25);
      await stand.probe(handler);
    }
    await until(async () => (await stand.circuit(handler)).state === "closed", "the circuit to close");
  });

  test.for([200, 404])("a probe that is answered %i closes the circuit, and all that waited flows", async (answer, { stand }) => {
    const handler = await stand.open();
    await stand.batch(handler, 40);
    handler.answers = ({ body }) => (body.attempt === 1 && handler.received.length === 21 ? answer : 200);
    await stand.probe(handler);
    await until(async () => (await stand.metrics(handler)).waiting === 0, "all to flow");
    await until(async () => (await stand.metrics(handler)).active === 0, "all to be answered");
    expect(handler.received).toHaveLength(60);
    expect(await stand.circuit(handler)).toMatchObject({ state: "closed", next_probe_at: null });
  });

  test("a probe that is cancelled makes way for another at once", async ({ service, stand }) => {
    const dead = await stand.open();
    const [first, second] = await stand.batch(dead, 2);
    dead.answers = "hang";
    await service.moveTo(Date.parse((await stand.circuit(dead)).next_probe_at));
    await until(() => dead.open === 1, "the probe");
    dead.answers = 200;
    const tried = dead.received.at(-1)?.body.id;
    await service.ok("DELETE", `/v1/queues/${dead.queue}/jobs/${tried}`);
    const other = tried === first?.id ? second : first;
    await service.untilState({ id: String(other?.id), queue: dead.queue }, "completed");
  });

  test("a probe that cannot be made up makes way for another at once, and costs its own job an attempt", async ({ service, stand }) => {
    const handler = await stand.open();
    const broken = await service.enqueue({ queue: handler.queue, payload: `\${{ secrets.NOWHERE }}`, priority: 1 });
    const job = await service.enqueue({ queue: handler.queue });
    handler.answers = 200;
    await service.moveTo(Date.parse((await stand.circuit(handler)).next_probe_at));
    await service.untilState(broken, "failed");
    expect(await service.job(broken)).toMatchObject({ attempt: 1, attempts: 1, last_error: { code: "SECRET_NOT_FOUND" } });
    service.node.wake();
    await service.untilState(job, "completed");
  });
});

describe("a job that was a probe", () => {
  test("a job that was a probe has all its attempts when the circuit has closed, numbered on", async ({ service, stand }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue, attempts: 2, backoff: { delay: 0 } });
    await stand.probe(dead);
    await service.ok("PATCH", `/v1/queues/${dead.queue}`, { paused: false });
    await service.untilIdle();
    const record = await service.job(job);
    expect(record).toMatchObject({ state: "failed", attempt: 3, attempts: 3 });
    expect(record.attempts_log.map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 2, 3]);
  });

  test("a job that was a probe can be cancelled while it is put off", async ({ service, stand }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue });
    await stand.probe(dead);
    expect(await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`)).toMatchObject({ state: "cancelled", attempt: 1 });
  });
});

test("a probe that is due is found by looking for work, without an enqueue or a change", async ({ service, stand }) => {
  const handler = await stand.open();
  const job = await service.enqueue({ queue: handler.queue });
  handler.answers = 200;
  await stand.passMs(1_200);
  await service.untilState(job, "completed");
});

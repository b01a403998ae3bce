import { describe, expect } from "vitest";
import { test } from "../harness/circuits.ts";
import { until } from "../harness/service.ts";

describe("the circuit of a queue", () => {
  test("the circuit of a queue is closed at first, and shown so", async ({ service }) => {
    const queue = await service.queue();
    expect((await service.ok("GET", `/v1/queues/${queue}`)).circuit).toEqual({
      state: "closed",
      host: null,
      opened_at: null,
      next_probe_at: null,
      last_error: null,
    });
  });

  test("the circuit of a queue opens at the twentieth failure in a row, and says so", async ({ stand }) => {
    const dead = await stand.dead(19);
    expect(await stand.circuit(dead)).toMatchObject({ state: "closed" });
    await stand.fail(dead);
    const { nowMs } = stand;
    const shown = await stand.circuit(dead);
    expect(shown).toMatchObject({
      state: "open",
      host: "127.0.0.1",
      opened_at: new Date(nowMs).toISOString(),
      last_error: { code: "HTTP_STATUS", status: 500 },
    });
    expect(Date.parse(shown.next_probe_at) - nowMs).toBeGreaterThanOrEqual(1_000);
    expect(Date.parse(shown.next_probe_at) - nowMs).toBeLessThanOrEqual(1_200);
  });

  test("the circuit of a queue stays closed when one of twenty succeeds", async ({ stand }) => {
    const dead = await stand.dead(19);
    await stand.succeed(dead);
    for (let failure = 0; failure < 19; failure += 1) await stand.fail(dead);
    expect(await stand.circuit(dead)).toMatchObject({ state: "closed" });
    await stand.fail(dead);
    expect(await stand.circuit(dead)).toMatchObject({ state: "open" });
  });

  test("the circuit of a queue opens for connections that are refused as well", async ({ stand }) => {
    const dead = await stand.dead(0);
    dead.answers = "reset";
    for (let failure = 0; failure < 20; failure += 1) await stand.fail(dead);
    expect(await stand.circuit(dead)).toMatchObject({ state: "open", last_error: { code: "CONNECTION", status: null } });
  });

  test("the circuit of a queue never opens for a handler that refuses", async ({ stand }) => {
    const handler = await stand.dead(0);
    for (const answer of [400, 404, 302, 410, 429]) {
      handler.answers = answer;
      for (let refusal = 0; refusal < 21; refusal += 1) await stand.fail(handler);
    }
    expect(await stand.circuit(handler)).toMatchObject({ state: "closed" });
  });

  test("the circuit of a queue is its own: another queue with the same host goes on", async ({ service, stand }) => {
    const dead = await stand.open();
    const other = await service.queue({ callback_url: dead.url });
    dead.answers = 200;
    await service.untilState(await service.enqueue({ queue: other }), "completed");
    expect(await stand.circuit(dead)).toMatchObject({ state: "open" });
    expect((await service.ok("GET", `/v1/queues/${other}`)).circuit.state).toBe("closed");
  });
});

describe("an open circuit", () => {
  test("jobs wait while the circuit is open, whether they started eagerly before or came in a batch, and use no attempt", async ({
    service,
    stand,
  }) => {
    const dead = await stand.open();
    const jobs = [await service.enqueue({ queue: dead.queue }), ...(await stand.batch(dead, 30))];
    await stand.look();
    expect(dead.attempts).toHaveLength(20);
    for (const job of jobs) expect(await service.job(job)).toMatchObject({ state: "waiting", attempt: 0, attempts: 1, attempts_log: [] });
  });

  test("attempts that were under way and fail while the circuit is open are held: logged, shown, and not counted", async ({
    service,
    stand,
  }) => {
    const hanging = await stand.dead(0);
    hanging.answers = "hang";
    const jobs = await stand.batch(hanging, 30);
    await until(() => hanging.open === 30, "all to be under way");
    hanging.release(500);
    await until(async () => (await stand.metrics(hanging)).active === 0, "all to have failed");
    const { failed, waiting } = await stand.metrics(hanging);
    expect({ failed, waiting }).toEqual({ failed: 20, waiting: 10 });
    expect((await service.ok("GET", "/v1/usage")).attempts.failed).toBe(20);
    const records = await Promise.all(jobs.map((job) => service.job(job)));
    for (const record of records) {
      expect(record).toMatchObject({
        attempt: 1,
        attempts: record.state === "waiting" ? 2 : 1,
        last_error: { code: "HTTP_STATUS", status: 500 },
        attempts_log: [{ attempt: 1, outcome: "failed", status: 500 }],
      });
    }
  });

  test("an attempt that was under way and succeeds closes the circuit", async ({ stand, service }) => {
    const handler = await stand.dead(0);
    handler.answers = "hang";
    const job = await service.enqueue({ queue: handler.queue });
    await until(() => handler.open === 1, "the slow attempt");
    await stand.failing(handler, 20);
    expect(await stand.circuit(handler)).toMatchObject({ state: "open" });
    handler.answers = 200;
    handler.release();
    await service.untilState(job, "completed");
    await until(async () => (await stand.circuit(handler)).state === "closed", "the circuit to close");
  });

  test("delayed jobs come due while the circuit is open, and wait with the others", async ({ service, stand }) => {
    const dead = await stand.open();
    // Otherwise the job may be the first probe, which comes after 1 to 1.2 s.
    await service.database.query("update circuit set probe_at = probe_at + interval '1 minute'");
    const job = await service.enqueue({ queue: dead.queue, delay: 1 });
    await stand.passMs(1_000);
    await service.untilState(job, "waiting");
    expect(await service.job(job)).toMatchObject({ attempt: 0 });
  });

  test("a job that waits for a circuit can be cancelled", async ({ service, stand }) => {
    const dead = await stand.open();
    const job = await service.enqueue({ queue: dead.queue });
    expect(await service.ok("DELETE", `/v1/queues/${job.queue}/jobs/${job.id}`)).toMatchObject({ state: "cancelled", attempt: 0 });
  });

  test("dead letters that are retried while the circuit is open wait with the others", async ({ service, stand }) => {
    const dead = await stand.open();
    expect(await service.ok("POST", `/v1/queues/${dead.queue}/retry-all`)).toEqual({ retried: 20 });
    await stand.look();
    expect(dead.attempts).toHaveLength(20);
    expect(await stand.metrics(dead)).toMatchObject({ waiting: 20, failed: 0 });
  });
});

describe("a change of the queue", () => {
  test.for<[string, object]>([
    ["of its address", { callback_url: "http://127.0.0.1:1/other" }],
    ["of its headers", { callback_headers: { "x-team": "billing" } }],
    ["of its timeout", { callback_timeout: 7 }],
    ["of its secret", { rotate_callback_secret: true }],
    ["that lets it run", { paused: false }],
  ])("a change of the queue %s closes the circuit", async ([, change], { service, stand }) => {
    const dead = await stand.open();
    await service.ok("PATCH", `/v1/queues/${dead.queue}`, change);
    expect(await stand.circuit(dead)).toMatchObject({ state: "closed" });
  });

  test("a change of the queue's retry policy leaves the circuit open", async ({ service, stand }) => {
    const dead = await stand.open();
    await service.ok("PATCH", `/v1/queues/${dead.queue}`, { defaultJobOptions: { attempts: 7 } });
    expect(await stand.circuit(dead)).toMatchObject({ state: "open" });
  });

  test("a change of the queue lets all that waited go at once, and it takes twenty failures to open the circuit again", async ({
    service,
    stand,
  }) => {
    const dead = await stand.open();
    await stand.batch(dead, 19);
    await service.ok("PATCH", `/v1/queues/${dead.queue}`, { paused: false });
    await until(async () => (await stand.metrics(dead)).failed === 39, "all to have failed");
    expect(await stand.circuit(dead)).toMatchObject({ state: "closed" });
    await stand.fail(dead);
    expect(await stand.circuit(dead)).toMatchObject({ state: "open" });
  });
});

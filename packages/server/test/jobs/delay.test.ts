import { describe, expect } from "vitest";
import { type Service, test, until } from "../harness/service.ts";

/** Whether a job is still delayed after the engine has handled this moment. Another job that was due then shows that it has. */
async function isStillDelayed(service: Service, job: { id: string; queue: string }, twin: { id: string; queue: string }): Promise<boolean> {
  await service.untilState(twin, "waiting");
  return (await service.job(job)).state === "delayed";
}

describe("a delay in seconds", () => {
  test("a delay in seconds holds the job back until it has passed, and not longer", async ({ service }) => {
    const handler = await service.handler();
    const unserved = await service.queue();
    const job = await service.enqueue({ queue: handler.queue, delay: 60 });
    const twin = await service.enqueue({ queue: unserved, delay: 59 });
    expect(job).toMatchObject({ state: "delayed", attempt: 0, started_at: null });
    expect(Date.parse(job.run_at) - Date.parse(job.created_at)).toBe(60_000);
    await service.advance(59);
    expect(await isStillDelayed(service, job, twin)).toBe(true);
    expect(handler.received).toEqual([]);
    await service.advance(1);
    await service.untilState(job, "completed");
    expect(handler.attempts).toEqual([1]);
  });

  test("a delay of 0 seconds is none", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, delay: 0 });
    expect(job.state).toBe("waiting");
    await service.untilState(job, "completed");
  });

  test("a delay in seconds may be a year", async ({ service }) => {
    const handler = await service.handler();
    const job = await service.enqueue({ queue: handler.queue, delay: 31_536_000 });
    expect(Date.parse(job.run_at) - service.clock.nowMs()).toBe(31_536_000_000);
    expect((await service.job(job)).state).toBe("delayed");
  });

  test.for([-1, 31_536_001, 1.5, "60", null])("a delay in seconds of %j is refused", async (delay, { service }) => {
    const queue = await service.queue();
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload: {}, delay });
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({ code: "VALIDATION_ERROR", details: { issues: [{ path: "delay" }] } });
  });
});

describe("run_at", () => {
  test("run_at holds the job back until that moment", async ({ service }) => {
    const handler = await service.handler();
    const run_at = new Date(service.clock.nowMs() + 90_500).toISOString();
    const job = await service.enqueue({ queue: handler.queue, run_at });
    const twin = await service.enqueue({ queue: await service.queue(), delay: 90 });
    expect(job).toMatchObject({ state: "delayed", run_at });
    await service.advance(90);
    expect(await isStillDelayed(service, job, twin)).toBe(true);
    await service.advance(0.5);
    await service.untilState(job, "completed");
    expect(handler.attempts).toEqual([1]);
  });

  test("run_at may be given in any time zone", async ({ service }) => {
    const queue = await service.queue();
    const atMs = Math.ceil(service.clock.nowMs() / 1000) * 1000 + 3_600_000;
    const local = `${new Date(atMs + 19_800_000).toISOString().slice(0, 19)}+05:30`;
    expect((await service.enqueue({ queue, run_at: local })).run_at).toBe(new Date(atMs).toISOString());
  });

  test("a run_at in the past is now, and keeps its place before what came since", async ({ service }) => {
    const handler = await service.handler();
    const run_at = "2020-01-01T00:00:00.000Z";
    const job = await service.enqueue({ queue: handler.queue, run_at });
    expect(job).toMatchObject({ state: "waiting", run_at });
    await service.untilState(job, "completed");
  });

  test("a run_at of this very moment is now", async ({ service }) => {
    const queue = await service.queue();
    const job = await service.enqueue({ queue, run_at: new Date(service.clock.nowMs()).toISOString() });
    expect(job.state).toBe("waiting");
  });

  test("a run_at more than a year ahead is refused", async ({ service }) => {
    const queue = await service.queue();
    const run_at = new Date(service.clock.nowMs() + 31_536_001_000).toISOString();
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload: {}, run_at });
    expect(reply.body.error).toMatchObject({ code: "VALIDATION_ERROR", details: { issues: [{ path: "run_at" }] } });
  });

  test("a run_at together with a delay is refused", async ({ service }) => {
    const queue = await service.queue();
    const reply = await service.api("POST", `/v1/queues/${queue}/jobs`, { payload: {}, delay: 1, run_at: "2027-01-01T00:00:00Z" });
    expect(reply.body.error).toMatchObject({ code: "VALIDATION_ERROR", details: { issues: [{ path: "run_at" }] } });
  });
});

describe("when several jobs come due", () => {
  test("each of several delayed jobs comes due at its own moment", async ({ service }) => {
    const handler = await service.handler();
    for (const delay of [300, 100, 200]) await service.enqueue({ queue: handler.queue, payload: delay, delay });
    for (const count of [1, 2, 3]) {
      await service.advance(100);
      await until(() => handler.received.length === count, `${count} jobs to be delivered`);
    }
    expect(handler.payloads).toEqual([100, 200, 300]);
  });

  test("a queue that is paused lets no delayed job go until it is resumed", async ({ service }) => {
    const handler = await service.handler({ paused: true });
    const job = await service.enqueue({ queue: handler.queue, delay: 10 });
    await service.advance(10);
    await service.untilState(job, "waiting");
    expect(handler.received).toEqual([]);
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { paused: false });
    await service.untilState(job, "completed");
  });

  test("a deleted queue lets no delayed job go", async ({ service }) => {
    const handler = await service.handler();
    await service.enqueue({ queue: handler.queue, delay: 10 });
    const other = await service.handler();
    const witness = await service.enqueue({ queue: other.queue, delay: 10 });
    await service.ok("DELETE", `/v1/queues/${handler.queue}`);
    await service.advance(10);
    await service.untilState(witness, "completed");
    expect(handler.received).toEqual([]);
  });
});

import fc from "fast-check";
import { describe, expect } from "vitest";
import { type AttemptResult, backoffMs, judge } from "../../src/engine/judge.ts";
import { type Service, test } from "../harness/service.ts";

const DAY_MS = 86_400_000;
const delay = fc.integer({ min: 10, max: DAY_MS });
const fraction = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const count = fc.integer({ min: 1, max: 100 });

describe("the wait before the next attempt", () => {
  test("the wait before the next attempt is the delay, doubled for each attempt before, with at most a fifth of jitter, and at most 24 hours", () => {
    fc.assert(
      fc.property(delay, count, fraction, (delayMs, counted, chance) => {
        const plainMs = Math.min(delayMs * 2 ** (counted - 1), DAY_MS);
        const waitMs = backoffMs(delayMs, counted, chance);
        expect(waitMs).toBeGreaterThanOrEqual(plainMs);
        expect(waitMs).toBeLessThanOrEqual(Math.min(Math.ceil(plainMs * 1.2), DAY_MS));
      }),
    );
  });

  test("the wait before the next attempt doubles without jitter, until it is 24 hours", () => {
    fc.assert(
      fc.property(
        delay,
        count,
        (delayMs, counted) => backoffMs(delayMs, counted + 1, 0) === Math.min(2 * backoffMs(delayMs, counted, 0), DAY_MS),
      ),
    );
  });

  test("the wait before the next attempt grows with chance, so that jobs that failed together do not come back together", () => {
    fc.assert(
      fc.property(
        delay,
        count,
        fraction,
        fraction,
        (delayMs, counted, a, b) => a > b || backoffMs(delayMs, counted, a) <= backoffMs(delayMs, counted, b),
      ),
    );
    expect(backoffMs(1_000, 1, 0)).toBe(1_000);
    expect(backoffMs(1_000, 1, 0.5)).toBe(1_100);
    expect(backoffMs(1_000, 1, 1)).toBe(1_200);
  });

  test("the wait before the next attempt grows from 10 ms when the delay is shorter", () => {
    for (const delayMs of [0, 1, 9, 10]) expect([1, 2, 3].map((counted) => backoffMs(delayMs, counted, 0))).toEqual([10, 20, 40]);
    expect(backoffMs(11, 2, 0)).toBe(22);
  });

  test("the wait before the next attempt is a number of milliseconds for any attempt, however late", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DAY_MS }), fc.integer({ min: 1, max: 2_147_483_647 }), fraction, (delayMs, counted, chance) => {
        const waitMs = backoffMs(delayMs, counted, chance);
        expect(Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= DAY_MS).toBe(true);
      }),
    );
  });
});

describe("what an answer makes of its job", () => {
  const claim = { attempt: 1, attempts: 3, spared: 0, backoffDelayMs: 1_000 };
  const refused = (more: object = {}): AttemptResult => ({
    kind: "refused",
    status: 500,
    code: "HTTP_STATUS",
    message: "No.",
    retryAfterSeconds: null,
    forGood: false,
    ...more,
  });
  const away: AttemptResult = { kind: "unreachable", code: "TIMEOUT", message: "Too slow." };
  const error = { code: "HTTP_STATUS", message: "No.", status: 500 };

  test.each<[string, AttemptResult, object, object]>([
    ["accepted completes it", { kind: "accepted", status: 204, result: null }, {}, { kind: "complete", status: 204, result: null }],
    [
      "accepted at the last attempt completes it",
      { kind: "accepted", status: 200, result: "1" },
      { attempt: 3 },
      { kind: "complete", status: 200, result: "1" },
    ],
    ["refused backs it off", refused(), {}, { kind: "retry", waitMs: 1_000, error }],
    ["refused again backs it off for twice as long", refused(), { attempt: 2 }, { kind: "retry", waitMs: 2_000, error }],
    ["refused at the last attempt fails it", refused(), { attempt: 3 }, { kind: "fail", error }],
    ["refused for good fails it at the first attempt", refused({ forGood: true }), {}, { kind: "fail", error }],
    ["refused with a longer Retry-After waits for that", refused({ retryAfterSeconds: 7 }), {}, { kind: "retry", waitMs: 7_000, error }],
    [
      "refused with a shorter Retry-After waits for the backoff",
      refused({ retryAfterSeconds: 0.1 }),
      {},
      { kind: "retry", waitMs: 1_000, error },
    ],
    [
      "unreachable backs it off",
      away,
      {},
      { kind: "retry", waitMs: 1_000, error: { code: "TIMEOUT", message: "Too slow.", status: null } },
    ],
    [
      "unreachable at the last attempt fails it",
      away,
      { attempt: 3 },
      { kind: "fail", error: { code: "TIMEOUT", message: "Too slow.", status: null } },
    ],
    ["withdrawn gives it back", { kind: "withdrawn" }, { attempt: 3 }, { kind: "release", waitMs: 0 }],
    ["postponed gives it back for later", { kind: "postponed", waitMs: 7 }, { attempt: 3 }, { kind: "release", waitMs: 7 }],
    [
      "refused after a retry by hand starts from the first wait",
      refused(),
      { attempt: 4, spared: 3 },
      { kind: "retry", waitMs: 1_000, error },
    ],
    ["refused at the last attempt of a fresh set fails it", refused(), { attempt: 6, spared: 3 }, { kind: "fail", error }],
  ])("an open circuit says what an answer makes of a job that is held: %s", (_, answer, more, verdict) => {
    expect(judge(answer, { ...claim, ...more }, 0)).toEqual(verdict);
  });
});

describe("what an answer makes of a job that is held, for its queue's circuit is open", () => {
  const claim = { attempt: 3, attempts: 3, spared: 0, backoffDelayMs: 1_000 };
  const away: AttemptResult = { kind: "unreachable", code: "TIMEOUT", message: "Too slow." };
  const error = { code: "TIMEOUT", message: "Too slow.", status: null };

  test.each<[string, number, number]>([
    ["it just waits again, at its last attempt too", 0, 0],
    ["after a probe it waits as long as it is held", 9_000, 9_000],
    ["but never less than its backoff", 1, 4_000],
    ["and never more than a day", 10 * DAY_MS, DAY_MS],
  ])("an open circuit says what an answer makes of a job that is held: %s", (_, heldForMs, waitMs) => {
    expect(judge(away, claim, 0, { heldForMs })).toEqual({ kind: "defer", waitMs, error });
  });
});

describe("an attempt whose program cannot have begun, of a kind that spares it", () => {
  const claim = { attempt: 1, attempts: 1, spared: 0, backoffDelayMs: 3_600_000 };
  const unbegun = { kind: "unreachable", code: "CONNECTION", message: "Refused.", unbegun: true } as const;

  test.for<[string, number, number | null, number]>([
    ["for its backoff", 1_000, null, 1_000],
    ["for 10 s at most", claim.backoffDelayMs, null, 10_000],
    ["for its backoff after a probe", 5_000, 1_200, 5_000],
    ["for 10 s at most after a probe, whatever its backoff is", claim.backoffDelayMs, 1_200, 10_000],
    ["for 10 s at most after a probe, however long its circuit has been open", 1_000, 600_000, 10_000],
    ["without a time while its circuit opens", claim.backoffDelayMs, 0, 0],
  ])("waits %s", ([, backoffDelayMs, heldForMs, waitMs]) => {
    expect(judge(unbegun, { ...claim, backoffDelayMs }, 0, { sparesUnbegun: true, heldForMs })).toMatchObject({ kind: "defer", waitMs });
  });

  test("waits longer with each try if its request was refused, up to a minute, and at least a second", () => {
    const refused = { kind: "refused", code: "HTTP_STATUS", status: 403, message: "No.", retryAfterSeconds: null, forGood: false } as const;
    const waits = [1, 2, 5, 50].map((attempt) => {
      const spared = attempt - 1;
      return judge({ ...refused, unbegun: true }, { ...claim, attempt, spared, backoffDelayMs: 10 }, 0, { sparesUnbegun: true });
    });
    expect(waits).toMatchObject([1_000, 2_000, 16_000, 60_000].map((waitMs) => ({ kind: "defer", waitMs })));
  });

  test("uses an attempt at an address that is not allowed", () => {
    expect(judge({ ...unbegun, code: "BLOCKED_ADDRESS" }, claim, 0, { sparesUnbegun: true }).kind).toBe("fail");
  });
});

describe("an attempt that must not be repeated", () => {
  const claim = { attempt: 1, attempts: 5, spared: 0, backoffDelayMs: 1_000 };
  const unreachable = { kind: "unreachable", code: "CONNECTION", message: "The connection broke." } as const;
  const reported = { kind: "workerFailed", code: "WORKER_FAILED", message: "No.", retryAfterSeconds: null, forGood: false } as const;
  const refused = { kind: "refused", code: "HTTP_STATUS", status: 503, message: "No.", retryAfterSeconds: 1, forGood: false } as const;
  const unsendable = { kind: "unsendable", code: "SECRET_NOT_FOUND", message: "No such secret." } as const;

  test.for<[string, AttemptResult, number | null, string]>([
    ["fails when its connection breaks", unreachable, null, "fail"],
    ["fails when its connection breaks while the circuit is open", unreachable, 1_000, "fail"],
    ["fails when its handler refuses it", refused, null, "fail"],
    ["is retried when its request was refused", { ...refused, status: 404, unbegun: true }, null, "retry"],
    ["fails when its worker reports a failure", reported, null, "fail"],
    ["is retried when no connection was made", { ...unreachable, unbegun: true }, null, "retry"],
    ["is held when no connection was made and the circuit is open", { ...unreachable, unbegun: true }, 1_000, "defer"],
    ["is retried when its request could not be built", unsendable, null, "retry"],
    ["is released when it is postponed", { kind: "postponed", waitMs: 5 }, null, "release"],
  ])("an attempt that must not be repeated %s", ([, result, heldForMs, kind]) => {
    expect(judge(result, claim, 0, { once: true, heldForMs }).kind).toBe(kind);
  });
});

describe("end to end", () => {
  /** Lets a job fail repeatedly. Returns how long it was delayed after each attempt. */
  async function waitsOf(service: Service, job: { id: string; queue: string }, failures: number): Promise<number[]> {
    const waits: number[] = [];
    for (let attempt = 1; attempt <= failures; attempt += 1) {
      await service.untilState(job, "delayed");
      const record = await service.job(job);
      expect(record.attempt).toBe(attempt);
      waits.push(Date.parse(record.run_at) - service.clock.nowMs());
      await service.moveTo(Date.parse(record.run_at));
    }
    return waits;
  }

  function expectDoubling(waits: number[], firstMs: number): void {
    for (const [index, waitMs] of waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(firstMs * 2 ** index);
      expect(waitMs).toBeLessThanOrEqual(firstMs * 2 ** index * 1.2);
    }
  }

  test("run_at stands in its bounds after each attempt", async ({ service }) => {
    const handler = await service.handler({
      answers: 500,
      defaultJobOptions: { attempts: 5, backoff: { type: "exponential", delay: 2_000 } },
    });
    const job = await service.enqueue({ queue: handler.queue });
    expectDoubling(await waitsOf(service, job, 4), 2_000);
    await service.untilState(job, "failed");
    expect(handler.attempts).toEqual([1, 2, 3, 4, 5]);
  });

  test("a queue that says nothing gives three attempts, one second and two seconds apart", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue });
    expectDoubling(await waitsOf(service, job, 2), 1_000);
    await service.untilState(job, "failed");
    expect(handler.attempts).toEqual([1, 2, 3]);
  });

  test("a job's own attempts and backoff go before its queue's", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 7, backoff: { delay: 60_000 } } });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2, backoff: { delay: 5_000 } });
    expectDoubling(await waitsOf(service, job, 1), 5_000);
    await service.untilState(job, "failed");
    expect(handler.attempts).toEqual([1, 2]);
  });

  test("a queue's defaults that change later do not change the jobs it has", async ({ service }) => {
    const handler = await service.handler({ answers: 500, defaultJobOptions: { attempts: 2, backoff: { delay: 3_000 } } });
    const before = await service.enqueue({ queue: handler.queue, delay: 1 });
    await service.ok("PATCH", `/v1/queues/${handler.queue}`, { defaultJobOptions: { attempts: 4, backoff: { delay: 50_000 } } });
    await service.advance(1);
    expectDoubling(await waitsOf(service, before, 1), 3_000);
    await service.untilState(before, "failed");
    const after = await service.enqueue({ queue: handler.queue });
    expect(after.attempts).toBe(4);
    expectDoubling(await waitsOf(service, after, 1), 50_000);
  });

  test("a backoff of nothing waits as one of 10 ms does", async ({ service }) => {
    const handler = await service.handler({ answers: 500 });
    const job = await service.enqueue({ queue: handler.queue, attempts: 4, backoff: { delay: 0 } });
    expectDoubling(await waitsOf(service, job, 3), 10);
    await service.untilState(job, "failed");
    expect(handler.attempts).toEqual([1, 2, 3, 4]);
  });
});

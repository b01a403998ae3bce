import { describe, expect } from "vitest";
import { type Service, test } from "../harness/service.ts";

/** How many seconds a job is delayed after a first response with this `Retry-After`. */
async function putOff(service: Service, status: number, retryAfter: string, job: object = {}): Promise<number> {
  const handler = await service.handler({ answers: { status, headers: { "retry-after": retryAfter } } });
  const enqueued = await service.enqueue({ queue: handler.queue, ...job });
  await service.untilState(enqueued, "delayed");
  const { run_at } = await service.job(enqueued);
  return (Date.parse(run_at) - service.clock.nowMs()) / 1000;
}

const inSeconds = (service: Service, seconds: number): string => new Date(service.clock.nowMs() + seconds * 1000).toUTCString();

describe("Retry-After puts off the next attempt", () => {
  test.for([429, 502, 503, 504])("Retry-After of a %i puts off the next attempt, in seconds", async (status, { service }) => {
    expect(await putOff(service, status, "120")).toBe(120);
  });

  test.for([429, 502, 503, 504])("Retry-After of a %i puts off the next attempt, as an HTTP date", async (status, { service }) => {
    expect(await putOff(service, status, inSeconds(service, 3_600))).toBe(3_600);
  });

  test("Retry-After puts off the next attempt until it has passed, and no longer", async ({ service }) => {
    const handler = await service.handler({ answers: [{ status: 503, headers: { "retry-after": "600" } }, 200] });
    const job = await service.enqueue({ queue: handler.queue });
    await service.untilState(job, "delayed");
    const twin = await service.enqueue({ queue: await service.queue(), delay: 599 });
    await service.advance(599);
    await service.untilState(twin, "waiting");
    expect(await service.job(job)).toMatchObject({ state: "delayed", attempt: 1 });
    await service.advance(1);
    await service.untilState(job, "completed");
    expect(handler.attempts).toEqual([1, 2]);
  });

  test("an attempt that Retry-After puts off still counts as an attempt", async ({ service }) => {
    const handler = await service.handler({ answers: { status: 429, headers: { "retry-after": "1" } } });
    const job = await service.enqueue({ queue: handler.queue, attempts: 2 });
    await service.untilIdle();
    expect(await service.job(job)).toMatchObject({ state: "failed", attempt: 2, last_error: { code: "HTTP_STATUS", status: 429 } });
  });
});

describe("the backoff stands", () => {
  const between = (seconds: number): void => {
    expect(seconds).toBeGreaterThanOrEqual(10);
    expect(seconds).toBeLessThanOrEqual(12);
  };
  const backoff = { backoff: { delay: 10_000 } };

  test.for(["0", "9", ""])("the backoff stands when Retry-After is shorter than it: %j", async (retryAfter, { service }) => {
    between(await putOff(service, 503, retryAfter, backoff));
  });

  test("the backoff stands when the date of Retry-After is past", async ({ service }) => {
    between(await putOff(service, 503, inSeconds(service, -3_600), backoff));
  });

  test.for(["soon", "-120", "1.5e9", "12s", "120, 240", "Infinity", "2030-01-01"])(
    "the backoff stands when Retry-After is none: %s",
    async (retryAfter, { service }) => {
      between(await putOff(service, 503, retryAfter, backoff));
    },
  );

  test.for([400, 404, 408, 409, 500, 501, 505])("the backoff stands when Retry-After comes with a %i", async (status, { service }) => {
    between(await putOff(service, status, "3600", backoff));
  });

  test("the backoff stands when Retry-After comes with a redirect", async ({ service }) => {
    between(await putOff(service, 302, "3600", backoff));
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WorkerCalls } from "../src/worker/calls.ts";
import { readWorkerOptions } from "../src/worker/options.ts";
import { workOutcome } from "../src/worker/outcomes.ts";
import { Log } from "./harness/worker.ts";

const HOUR = { status: 503, headers: { "Retry-After": "3600" } };
const RESPONSE = { jobs: [], runs: [], hooks: [], settled: [], cancelled: [], waited_ms: 0 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("a worker whose proxy is down for maintenance, and asks for an hour", () => {
  /** Makes a call while the proxy refuses the first one. Returns after how many seconds the next one came. */
  async function pauseOf(call: (calls: WorkerCalls, signal: AbortSignal) => Promise<unknown>): Promise<number> {
    let requests = 0;
    const fetch = async () => {
      requests += 1;
      return requests === 1 ? new Response("Back soon.", HOUR) : Response.json(RESPONSE);
    };
    const options = {
      url: "http://127.0.0.1:9",
      key: "svc_ws_key",
      queues: { mails: () => {} },
      leaseSeconds: 30,
      logger: new Log(),
      fetch,
    };
    const calling = call(new WorkerCalls(readWorkerOptions(options)), new AbortController().signal);
    let seconds = 0;
    for (; requests < 2; seconds += 1) await vi.advanceTimersByTimeAsync(1_000);
    await calling;
    return seconds;
  }

  // Not all workers at the same time: the last quarter of the pause is drawn.
  test("asks for jobs again after a minute at most", async () => {
    const seconds = await pauseOf((calls, signal) => calls.work({ queues: ["mails"], limit: 1, wait: 28 }, [], signal));
    expect(seconds).toBeGreaterThanOrEqual(45);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test("reports an outcome again after a third of the lease at most", async () => {
    const outcome = workOutcome({ id: "job_1", lease_token: "t" }, { outcome: "completed" });
    const seconds = await pauseOf((calls, signal) => calls.work({ queues: [] }, [outcome], signal));
    expect(seconds).toBeGreaterThanOrEqual(7);
    expect(seconds).toBeLessThanOrEqual(10);
  });
});

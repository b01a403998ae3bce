import type { WorkerJob } from "@tidemill/sdk";
import { expect, test } from "vitest";
import { WorkerCalls } from "../src/worker/calls.ts";
import { readWorkerOptions } from "../src/worker/options.ts";
import { WorkLoop } from "../src/worker/work-loop.ts";
import { Log } from "./harness/worker.ts";

const NOTHING = { jobs: [], runs: [], hooks: [], settled: [], cancelled: [], waited_ms: 0 };
const job = (id: string) => ({
  ...{ id, queue: "mails", payload: null, tag: null, attempt: 1, attempts: 3, concurrency_key: null },
  ...{ created_at: "2026-11-23T09:30:00.000Z", lease_token: `of ${id}`, lease_expires_at: "2026-11-23T09:30:30.000Z" },
});

/**
 * A worker that has taken job_2 with a report, while a poll waits.
 *
 * @param ok what the service says of the lease of job_2
 */
async function takeWhilePolling(ok: boolean) {
  const poll = Promise.withResolvers<object>();
  const firstEnds = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<AbortSignal>();
  const extended = Promise.withResolvers<unknown>();
  let polls = 0;
  const responseTo = (
    path: string,
    body: { wait?: number; settle?: { id: string }[]; leases: { id: string }[] },
  ): object | Promise<object> => {
    if (path === "/v1/work/extend") {
      extended.resolve(body.leases);
      return { leases: body.leases.map(({ id }) => ({ id, ok, lease_expires_at: null })), cancelled: [] };
    }
    if (body.settle) return { ...NOTHING, settled: [{ id: "job_1", ok: true, code: null, message: null }], jobs: [job("job_2")] };
    polls += 1;
    if (polls === 1) return { ...NOTHING, jobs: [job("job_1")] };
    firstEnds.resolve();
    return polls === 2 ? poll.promise : new Promise(() => {});
  };
  const settings = readWorkerOptions({
    url: "http://127.0.0.1:9",
    key: "svc_ws_key",
    concurrency: 2,
    logger: new Log(),
    fetch: async (url, init) => Response.json(await responseTo(new URL(String(url)).pathname, JSON.parse(String(init?.body)))),
    queues: {
      mails: async ({ id, signal }: WorkerJob) => {
        if (id === "job_1") return firstEnds.promise;
        begun.resolve(signal);
        return new Promise(() => {});
      },
    },
  });
  const loop = new WorkLoop(settings, new WorkerCalls(settings));
  loop.start();
  return { poll, extended: extended.promise, signal: await begun.promise, close: () => loop.close() };
}

test("a job that was taken after a poll was sent, and whose cancel only the poll brings, is ended at once", async ({ onTestFinished }) => {
  const { poll, signal, close } = await takeWhilePolling(false);
  onTestFinished(close);
  poll.resolve({ ...NOTHING, cancelled: ["job_2"] });
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  expect(signal.reason).toMatchObject({ name: "JobAbortedError", why: "cancelled" });
});

test("what was cancelled before it was taken again goes on", async ({ onTestFinished }) => {
  const { poll, extended, signal, close } = await takeWhilePolling(true);
  onTestFinished(close);
  poll.resolve({ ...NOTHING, cancelled: ["job_2"] });
  expect(await extended).toEqual([{ id: "job_2", lease_token: "of job_2" }]);
  expect(signal.aborted).toBe(false);
});

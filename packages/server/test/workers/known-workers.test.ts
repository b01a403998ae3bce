import { expect, test, vi } from "vitest";
import { type Db, type JobId, toMoment, type WorkspaceId } from "#kernel";
import { KnownWorkers } from "../../src/workers/known-workers.ts";

const WORKSPACE = "00000000-0000-7000-8000-000000000001" as WorkspaceId;
const JOB = "00000000-0000-7000-8000-000000000002" as JobId;
const CALL = { workspaceId: WORKSPACE, name: "w1", version: null, queues: ["emails"], workflows: [], seenAt: toMoment(0) };

/** A database in which the worker has the lease 1. */
const db: Db = {
  query: async () => ({ rows: [{ workspaceId: WORKSPACE, name: "w1", leaseId: 1, secret: Buffer.alloc(16) }], rowCount: 1 }),
};

test("a worker that has only waited for a long time is notified of a cancelled job", async ({ onTestFinished }) => {
  // The cache reads the clock, and a timer lets it read it again.
  let nowMs = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    clock.mockRestore();
    vi.useRealTimers();
  });
  const workers = new KnownWorkers(db, () => {});
  for (let minute = 0; minute < 30; minute += 1) {
    await workers.calls(CALL);
    nowMs += 60_000;
    vi.advanceTimersByTime(60_000);
  }
  const worker = await workers.calls(CALL);
  const reported = vi.fn();
  worker.onCancelled.add(reported);
  workers.cancelled(1, JOB);
  expect(reported).toHaveBeenCalledOnce();
  expect(worker.cancelled).toEqual(new Set([JOB]));
  expect((await workers.withLeases(db, WORKSPACE, new Set([1]))).get(1)).toBe(worker);
});

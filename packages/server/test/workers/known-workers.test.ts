import { describe, expect, test, vi } from "vitest";
import { type Db, type JobId, SharedResource, toMoment, type WorkspaceId } from "#kernel";
import { KnownWorkers } from "../../src/workers/known-workers.ts";

const WORKSPACE = "00000000-0000-7000-8000-000000000001" as WorkspaceId;
const JOB = "00000000-0000-7000-8000-000000000002" as JobId;
const CALL = { workspaceId: WORKSPACE, name: "w1", version: null, queues: ["emails"], workflows: [], seenAt: toMoment(0) };

/** A database in which the worker has the lease 1. */
const db: Db = {
  query: async () => ({ rows: [{ workspaceId: WORKSPACE, name: "w1", leaseId: 1, secret: Buffer.alloc(16) }] }),
};
const shareOf = (capacity: number) => new SharedResource({ name: "workers", capacity });

/** The clock of the caches, with a way to let time pass. */
function frozenCaches(onTestFinished: (end: () => void) => void): (ms: number) => void {
  // A cache reads the clock, and a timer lets it read it again.
  let nowMs = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    clock.mockRestore();
    vi.useRealTimers();
  });
  return (ms) => {
    nowMs += ms;
    vi.advanceTimersByTime(ms);
  };
}

test("a worker that has only waited for a long time is notified of a cancelled job", async ({ onTestFinished }) => {
  const pass = frozenCaches(onTestFinished);
  const workers = new KnownWorkers(db, () => {}, shareOf(10));
  for (let minute = 0; minute < 30; minute += 1) {
    await workers.calls(CALL);
    pass(60_000);
  }
  const worker = await workers.calls(CALL);
  const reported = vi.fn();
  worker.onCancelled.add(reported);
  workers.cancelled(1, JOB);
  expect(reported).toHaveBeenCalledOnce();
  expect(worker.cancelled).toEqual(new Set([JOB]));
  expect((await workers.withLeases(db, WORKSPACE, new Set([1]))).get(1)).toBe(worker);
});

test("what a known worker asks for is written at once when it changes, and once at a time", async () => {
  const written: unknown[] = [];
  let open = Promise.withResolvers<void>();
  open.resolve();
  const recording: Db = {
    query: async (statement) => {
      written.push(statement.values[3]);
      await open.promise;
      return db.query(statement);
    },
  };
  const workers = new KnownWorkers(recording, () => {}, shareOf(10));
  const ask = (...queues: string[]) => workers.calls({ ...CALL, queues });
  await ask("a");
  await ask("a");
  await ask();
  expect(written).toHaveLength(1);
  open = Promise.withResolvers();
  await ask("b");
  await ask("c");
  await expect.poll(() => written).toHaveLength(2);
  expect(written[1]).toContain("b");
  open.resolve();
  await expect
    .poll(async () => {
      await ask("c");
      return written;
    })
    .toHaveLength(3);
  for (const queue of ["a", "b", "c"]) expect(written[2]).toContain(queue);
  // A worker that is busy asks for some of its queues only.
  for (const queue of ["a", "b", "c", "a"]) await ask(queue);
  await workers.writeCalls();
  for (const queue of ["a", "b", "a", "b"]) await ask(queue);
  await expect.poll(() => written).toHaveLength(5);
});

describe("the room for workers", () => {
  const OTHER = "00000000-0000-7000-8000-000000000003" as WorkspaceId;
  /** A database that gives each new name a lease. */
  function leases(): Db {
    let leaseId = 0;
    return {
      query: async ({ values: [workspaces, names] }) => {
        const name = JSON.parse(`[${String(names).slice(1, -1)}]`)[0];
        leaseId += 1;
        return { rows: [{ workspaceId: String(workspaces).slice(1, -1), name, leaseId, secret: Buffer.alloc(16) }] };
      },
    };
  }
  const nameOf = (n: number) => ({ ...CALL, name: `w${n}` });

  test("is shared by workspaces: one that invents names is refused, and another has room", async ({ onTestFinished }) => {
    const pass = frozenCaches(onTestFinished);
    const share = shareOf(8);
    const workers = new KnownWorkers(leases(), () => {}, share);
    for (let n = 0; n < 6; n += 1) await workers.calls(nameOf(n));
    await expect(workers.calls(nameOf(6))).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "Your workspace's share of this node's room for workers is in use. Try again later.",
    });
    await expect(workers.calls(nameOf(0))).resolves.toMatchObject({ name: "w0" });
    await expect(workers.calls({ ...CALL, workspaceId: OTHER })).resolves.toMatchObject({ workspaceId: OTHER });
    pass(700_000);
    await workers.writeCalls();
    expect(share.total).toBe(0);
    await expect(workers.calls(nameOf(6))).resolves.toMatchObject({ name: "w6" });
  });

  test("is free again when a worker could not be written", async () => {
    const share = shareOf(8);
    const workers = new KnownWorkers({ query: () => Promise.reject(new Error("away")) }, () => {}, share);
    await expect(workers.calls(CALL)).rejects.toThrow("away");
    expect(share.total).toBe(0);
  });
});

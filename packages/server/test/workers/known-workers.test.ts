import { describe, expect, test, vi } from "vitest";
import { type Db, type JobId, SharedResource, toMoment, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { KnownWorkers } from "../../src/workers/known-workers.ts";

const WORKSPACE = "00000000-0000-7000-8000-000000000001" as WorkspaceId;
const JOB = "00000000-0000-7000-8000-000000000002" as JobId;
/** The queue of a name that is a letter or a number. */
const queue = (name: string) => ({ laneId: Number.parseInt(name, 36) as LaneId, kind: "queue" as const, name });
const CALL = { workspaceId: WORKSPACE, name: "w1", version: null, lanes: [queue("a")], seenAt: toMoment(0) };

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

describe("what a known worker asks for", () => {
  /** A worker, with a database that responds when it may. */
  function setUp() {
    const written: string[][] = [];
    const respond = { when: Promise.resolve() };
    const recording: Db = {
      query: async (statement) => {
        written.push(...JSON.parse(`[${String(statement.values[3]).slice(1, -1)}]`).map(JSON.parse));
        await respond.when;
        return db.query(statement);
      },
    };
    const workers = new KnownWorkers(recording, () => {}, shareOf(10));
    const ask = (...names: string[]) => workers.calls({ ...CALL, lanes: names.map(queue) });
    return { workers, written, respond, ask };
  }

  test("is written at once when it asks for something new, and once at a time", async () => {
    const { written, respond, ask } = setUp();
    await ask("a");
    await ask("a");
    await ask();
    expect(written).toEqual([["a"]]);
    const { promise, resolve } = Promise.withResolvers<void>();
    respond.when = promise;
    for (const name of ["b", "c", "d"]) await ask(name);
    await expect.poll(() => written).toEqual([["a"], ["a", "b"]]);
    resolve();
    await expect.poll(() => written).toEqual([["a"], ["a", "b"], ["a", "b", "c", "d"]]);
  });

  test("is all that it asked for lately, some of it at a time, and costs no further writes", async () => {
    const { workers, written, ask } = setUp();
    await ask("a", "b", "c");
    for (let period = 0; period < 3; period += 1) {
      for (const name of ["a", "b", "a"]) await ask(name);
      await workers.writeCalls();
    }
    expect(written).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b"],
    ]);
    await ask("c");
    await expect.poll(() => written.slice(4)).toEqual([["a", "b", "c"]]);
  });

  test("is bounded, and what it no longer asks for makes room", async () => {
    const { workers, written, ask } = setUp();
    const names = (from: number) => Array.from({ length: 100 }, (_, n) => `${from + n}`);
    await ask();
    for (let from = 100; from < 600; from += 100) await ask(...names(from));
    await workers.writeCalls();
    expect(written.at(-1)).toEqual([...names(100), ...names(200)]);
    for (let period = 0; period < 3; period += 1) {
      await ask(...names(600));
      await workers.writeCalls();
    }
    expect(written.at(-1)).toEqual(names(600));
  });
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

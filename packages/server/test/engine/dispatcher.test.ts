import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim, StartedJob } from "#jobs";
import { problem, unavailable, type WorkspaceId } from "#kernel";
import { finishForWorker } from "../../src/engine/finish-for-worker.ts";
import type { AttemptResult } from "../../src/engine/judge.ts";
import { JobKinds } from "../../src/engine/kinds.ts";
import { claimed, DispatcherFixture, jobId, laneKey, workspaceId } from "../harness/dispatcher-fixture.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";

let stage: DispatcherFixture;

beforeEach(() => {
  stage = new DispatcherFixture();
});

describe("a claim whose answer comes late", () => {
  test("a claim whose answer comes late starts what it brings", async () => {
    await stage.claimUnderWay().answer([claimed(1), claimed(2)]);
    expect(stage.started).toEqual([jobId(1), jobId(2)]);
  });

  test("a claim whose answer comes late starts no job that was cancelled meanwhile (I4)", async () => {
    const claim = stage.claimUnderWay();
    stage.dispatcher.abort(jobId(1));
    await claim.answer([claimed(1), claimed(2)]);
    expect(stage.started).toEqual([jobId(2)]);
  });

  test("a claim whose answer comes late starts no job of a queue that was deleted meanwhile", async () => {
    const claim = stage.claimUnderWay();
    stage.dispatcher.abortLane(laneKey(1).laneId);
    await claim.answer([claimed(1)]);
    expect(stage.started).toEqual([]);
  });

  test("a claim whose answer comes late starts no job of a workspace that was deleted meanwhile", async () => {
    const claim = stage.claimUnderWay();
    stage.dispatcher.abortWorkspace(workspaceId);
    await claim.answer([claimed(1)]);
    expect(stage.started).toEqual([]);
  });

  test("a claim whose answer comes late starts nothing when the node's lease was lost meanwhile: others may have the jobs (I3)", async () => {
    const claim = stage.claimUnderWay();
    stage.heldBy = null;
    stage.dispatcher.abortAll();
    await claim.answer([claimed(1)]);
    expect(stage.started).toEqual([]);
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "release" }]);
  });

  test("a claim whose answer comes late starts nothing when the node goes on under a new lease", async () => {
    const claim = stage.claimUnderWay();
    stage.heldBy = 8;
    stage.dispatcher.abortAll();
    await claim.answer([claimed(1)]);
    expect(stage.started).toEqual([]);
  });

  test("a claim whose answer comes late starts what it brings when the node drains by then: released unsent, a job would lose its first attempt number", async () => {
    const claim = stage.claimUnderWay();
    stage.dispatcher.stopClaiming();
    await claim.answer([claimed(1)]);
    expect(stage.started).toEqual([jobId(1)]);
    expect(stage.settled).toEqual([]);
  });
});

describe("a claim of many jobs", () => {
  const jobs = Array.from({ length: 40 }, (_, index) => claimed(index + 1));

  test("a claim of many jobs starts some of them in each turn of the event loop", async () => {
    const answered = stage.claimUnderWay().answer(jobs);
    const inOneStatement: number[] = [];
    while (stage.started.length < jobs.length) {
      await setImmediate();
      inOneStatement.push(stage.started.length - inOneStatement.reduce((sum, one) => sum + one, 0));
    }
    await answered;
    expect(Math.max(...inOneStatement)).toBe(16);
    expect(stage.started).toEqual(jobs.map(({ id }) => id));
  });

  test("a claim of many jobs starts those of its workspaces in turns, whatever order the database returns", async () => {
    const other = { ...claimed(41, 2), workspaceId: "01900000-0000-7000-9000-000000000002" as WorkspaceId };
    const answered = stage.claimUnderWay().answer([...jobs, other]);
    while (stage.started.length === 0) await setImmediate();
    expect(stage.started.slice(0, 3)).toEqual([jobId(1), other.id, jobId(2)]);
    await answered;
  });

  test("a claim of many jobs starts none that was cancelled before its turn (I4)", async () => {
    const answered = stage.claimUnderWay().answer(jobs);
    while (stage.started.length === 0) await setImmediate();
    stage.dispatcher.abort(jobId(40));
    await answered;
    expect(stage.started).toEqual(jobs.slice(0, -1).map(({ id }) => id));
  });
});

describe("a node that ends its attempts while a claim's jobs are started", () => {
  const jobs = Array.from({ length: 40 }, (_, index) => claimed(index + 1));

  test("a node that ends its attempts while a claim's jobs are started releases those that are not started yet, without an attempt", async () => {
    const answered = stage.claimUnderWay().answer(jobs);
    while (stage.started.length === 0) await setImmediate();
    const { length } = stage.started;
    expect(length).toBeLessThan(jobs.length);
    stage.dispatcher.stopClaiming();
    stage.dispatcher.endAttempts();
    await Promise.all([answered, stage.dispatcher.idle(60)]);
    expect(stage.started).toHaveLength(length);
    expect(stage.aborted).toEqual(stage.started);
    expect(stage.dispatcher.inFlight).toBe(0);
    expect(stage.settled.map(({ id }) => id).toSorted()).toEqual(jobs.map(({ id }) => id));
    expect(new Set(stage.settled.map(({ verdict }) => verdict))).toEqual(new Set(["release"]));
  });
});

describe("an attempt under way", () => {
  test("an attempt under way is broken off and its job released when the lease is lost, so that nobody has to miss the node", async () => {
    await stage.claimUnderWay().answer([claimed(1), claimed(2)]);
    stage.heldBy = null;
    stage.dispatcher.abortAll();
    await setImmediate();
    expect(stage.aborted).toEqual([jobId(1), jobId(2)]);
    expect(stage.settled).toEqual([
      { id: jobId(1), verdict: "release" },
      { id: jobId(2), verdict: "release" },
    ]);
    expect(stage.dispatcher.inFlight).toBe(0);
  });

  test("an attempt under way is broken off when its job is cancelled, and no other", async () => {
    await stage.claimUnderWay().answer([claimed(1), claimed(2)]);
    stage.dispatcher.abort(jobId(1));
    await setImmediate();
    expect(stage.aborted).toEqual([jobId(1)]);
    expect(stage.dispatcher.inFlight).toBe(1);
  });

  test("an attempt under way is broken off when its queue is deleted, and no other", async () => {
    await stage.claimUnderWay().answer([claimed(1, 1), claimed(2, 2)]);
    stage.dispatcher.abortLane(laneKey(2).laneId);
    await setImmediate();
    expect(stage.aborted).toEqual([jobId(2)]);
  });
});

describe("a job that started eagerly", () => {
  const inserted = {
    laneId: laneKey(1).laneId,
    state: "active",
    attempts: 3,
    backoffDelayMs: 1_000,
    runAt: "",
    createdAt: "",
    revision: 1,
    served: "push",
  } as const;
  const through = {
    workspaceId,
    leaseId: 7,
    inserted,
    input: { ...PLAIN_JOB, id: jobId(1), eager: true, tick: null },
  };

  test("a job that started eagerly is started", () => {
    stage.dispatcher.take([through]);
    expect(stage.started).toEqual([jobId(1)]);
  });

  test("a job that started eagerly is not started when the lease was lost while it was written (I3)", async () => {
    stage.heldBy = null;
    stage.dispatcher.take([through]);
    await setImmediate();
    expect(stage.started).toEqual([]);
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "release" }]);
  });
});

describe("a job whose write may start it eagerly", () => {
  test.for<[string, () => Promise<unknown[]>]>([
    ["fails", () => Promise.reject(unavailable("The database is unavailable."))],
    ["has stored others, but the response for this one is lost", async () => [[], unavailable("The database is unavailable.")]],
  ])("a job whose write may start it eagerly is looked for, and released, if the write %s", async ([, write]) => {
    await stage.dispatcher.expecting([jobId(1)], write).catch(() => {});
    stage.dispatcher.wake([laneKey(1)]);
    await setImmediate();
    // A look for what the lease holds names no lane.
    expect(stage.claims.map(({ lanes }) => lanes)).toEqual([[0]]);
    await stage.claims[0]?.answer([claimed(1)]);
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "release" }]);
    stage.dispatcher.stopClaiming();
  });

  test("a job whose write may start it eagerly is not looked for if the write refuses it", async () => {
    await stage.dispatcher.expecting([jobId(1)], async () => [problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: "a", index: null })]);
    stage.dispatcher.wake([laneKey(1)]);
    expect(stage.claims.map(({ lanes }) => lanes)).toEqual([[1]]);
  });
});

describe("a claim", () => {
  test("a claim is not asked for while the lease is not surely held", () => {
    stage.heldBy = null;
    stage.dispatcher.wake([laneKey(1)]);
    expect(stage.claims).toEqual([]);
  });

  test("a claim is not asked for once the node drains", () => {
    stage.dispatcher.stopClaiming();
    stage.dispatcher.wake([laneKey(1)]);
    expect(stage.claims).toEqual([]);
  });

  test("a claim is not asked for twice at once", () => {
    stage.dispatcher.wake([laneKey(1)]);
    stage.dispatcher.wake([laneKey(2)]);
    expect(stage.claims).toHaveLength(1);
  });

  test("a claim is asked for again when a lane was woken while it was under way", async () => {
    const claim = stage.claimUnderWay();
    stage.dispatcher.wake([laneKey(1)]);
    await claim.answer([]);
    expect(stage.claims.map(({ lanes }) => lanes)).toEqual([[1], [1]]);
  });

  test("a claim with one job that cannot be carried does not cost the others their attempt", async () => {
    stage.uncarried = jobId(1);
    await stage.claimUnderWay().answer([claimed(1), claimed(2)]);
    expect(stage.started).toEqual([jobId(2)]);
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "retry" }]);
  });

  test("a claim that finds its lanes empty is followed by one for the lanes that had no turn", async () => {
    stage.dispatcher.wake(Array.from({ length: 200 }, (_, index) => laneKey(index + 1)));
    // Each is for more lanes than the last one, since it is less likely that payloads are large.
    for (let at = 0; at < 5; at += 1) await stage.claims[at]?.answer([]);
    expect(new Set(stage.claims.flatMap(({ lanes }) => lanes)).size).toBe(200);
    expect(stage.claims.length).toBeLessThanOrEqual(5);
  });

  test("a claim that had to leave jobs because their payloads are large is followed by another from the same lane", async ({
    onTestFinished,
  }) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await stage.claimUnderWay().answer([claimed(1)], [], [], [laneKey(1)]);
    expect(stage.claims).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(stage.claims.map(({ lanes }) => lanes)).toEqual([[1], [1]]);
  });

  test("a node claims again when an attempt is settled in a lane that got limits meanwhile", async () => {
    const settled = Promise.withResolvers<void>();
    stage.settling = settled.promise;
    await stage.claimUnderWay().answer([claimed(1)]);
    stage.dispatcher.wake([laneKey(1)]);
    stage.complete(jobId(1));
    await setImmediate();
    // Without limits the lane is passed over. With them nothing can start, since the attempt still counts.
    await stage.claims[1]?.answer([], [laneKey(1)]);
    await stage.claims[2]?.answer([], [laneKey(1)]);
    await stage.claims[3]?.answer([], [laneKey(1)]);
    expect(stage.claims).toHaveLength(4);
    settled.resolve();
    await setImmediate();
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "complete" }]);
    expect(stage.claims).toHaveLength(5);
  });
});

describe("a workspace that a slow claim is not for", () => {
  const otherId = "01900000-0000-7000-9000-000000000002" as WorkspaceId;
  const otherKey = (id: number) => ({ ...laneKey(id), workspaceId: otherId });
  const otherJob = { ...claimed(9, 2), workspaceId: otherId };
  /** The lanes of each claim. */
  const asked = () => stage.claims.map(({ lanes }) => lanes);

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    return () => void vi.useRealTimers();
  });

  test("a workspace that a slow claim is not for has one beside it after 5 ms", async () => {
    const slow = stage.claimUnderWay();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(4);
    expect(asked()).toEqual([[1]]);
    vi.advanceTimersByTime(1);
    expect(asked()).toEqual([[1], [2]]);
    await stage.claims[1]?.answer([otherJob]);
    expect(stage.started).toEqual([otherJob.id]);
    await slow.answer([claimed(1)]);
    expect(stage.started).toEqual([otherJob.id, jobId(1)]);
  });

  test("a workspace that a slow claim is not for has one beside it while the jobs of the slow one are started", async () => {
    const answered = stage.claimUnderWay().answer(Array.from({ length: 40 }, (_, index) => claimed(index + 100)));
    while (stage.started.length === 0) await setImmediate();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[1], [2]]);
    await answered;
  });

  test("a workspace that a slow claim is not for has one beside it when it has room again", async () => {
    const jobs = Array.from({ length: 64 }, (_, index) => ({ ...claimed(index + 100, 2), workspaceId: otherId }));
    stage.dispatcher.wake([otherKey(2)]);
    await stage.claims[0]?.answer(jobs.slice(0, 10));
    await stage.claims[1]?.answer(jobs.slice(10));
    // The queue has as many attempts under way as it may have.
    expect([asked(), stage.started]).toEqual([[[2], [2]], jobs.map(({ id }) => id)]);
    stage.dispatcher.wake([laneKey(1)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[2], [2], [1]]);
    // A quarter of them: fewer are not worth a claim.
    for (const { id } of jobs.slice(0, 16)) stage.complete(id);
    await setImmediate();
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[2], [2], [1], [2]]);
  });

  test("the workspace of a slow claim has no second one", async () => {
    stage.claimUnderWay();
    stage.dispatcher.wake([laneKey(3)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[1]]);
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[1], [2]]);
    stage.dispatcher.wake([otherKey(4), laneKey(5)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[1], [2]]);
  });

  test("a workspace that a slow claim is not for has one after the other beside it", async () => {
    stage.claimUnderWay();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    stage.dispatcher.wake([otherKey(4)]);
    await stage.claims[1]?.answer([]);
    expect(asked()).toEqual([[1], [2], [4]]);
  });

  test("a claim that ends before the one beside it is followed by one of its own workspace only", async () => {
    const slow = stage.claimUnderWay();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    stage.dispatcher.wake([otherKey(4), laneKey(3)]);
    await slow.answer([]);
    expect(asked()).toEqual([[1], [2], [3]]);
    await stage.claims[1]?.answer([]);
    expect(asked()).toEqual([[1], [2], [3], [4]]);
  });

  test("a node is not idle while a claim beside another is under way", async () => {
    const slow = stage.claimUnderWay();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    stage.dispatcher.stopClaiming();
    await slow.answer([]);
    let idle = false;
    const waited = stage.dispatcher.idle(60).then(() => {
      idle = true;
    });
    await setImmediate();
    expect(idle).toBe(false);
    await stage.claims[1]?.answer([]);
    await waited;
  });

  test("a claim that the database lost is looked for when the one beside it has ended, whose jobs would be unknown before", async () => {
    const lost = stage.claimUnderWay();
    stage.dispatcher.wake([otherKey(2)]);
    vi.advanceTimersByTime(5);
    await lost.fail();
    vi.advanceTimersByTime(250);
    await setImmediate();
    expect(asked()).toEqual([[1], [2]]);
    await stage.claims[1]?.answer([otherJob]);
    // A look for what the lease holds names no lane. No claim begins until it is done.
    expect(asked()).toEqual([[1], [2], [0]]);
    stage.dispatcher.wake([otherKey(4)]);
    vi.advanceTimersByTime(5);
    expect(asked()).toEqual([[1], [2], [0]]);
    await stage.claims[2]?.answer([otherJob]);
    expect(stage.settled).toEqual([]);
    expect(asked().at(-1)).toEqual([4, 1]);
    stage.dispatcher.stopClaiming();
  });
});

test("a workspace of which 4,096 attempts wait to be settled starts no more jobs eagerly, until some are", async () => {
  const settled = Promise.withResolvers<void>();
  stage.settling = settled.promise;
  for (let id = 1; id <= 4_096; id += 1) {
    expect(stage.dispatcher.roomFor(workspaceId)).toBeGreaterThan(0);
    const { payload, tag, createdAt, revision, attempts, backoffDelayMs } = claimed(id);
    const inserted = { laneId: laneKey(1).laneId, attempts, backoffDelayMs, createdAt, revision } as StartedJob["inserted"];
    const input = { id: jobId(id), payload, tag, trace: null } as StartedJob["input"];
    stage.dispatcher.take([{ workspaceId, leaseId: 7, inserted, input }]);
    stage.complete(jobId(id));
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(stage.started).toHaveLength(4_096);
  expect([stage.dispatcher.inFlight, stage.dispatcher.roomFor(workspaceId)]).toEqual([0, 0]);
  settled.resolve();
  await setImmediate();
  expect(stage.dispatcher.roomFor(workspaceId)).toBe(500);
});

describe("a node that lacks what attempts need", () => {
  test("a node that lacks what attempts need claims nothing until the wait is over, and starts no job eagerly", async ({
    onTestFinished,
  }) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await stage.claimUnderWay().answer([claimed(1)]);
    expect([stage.dispatcher.leaseId, stage.dispatcher.roomFor(workspaceId)]).toEqual([7, 499]);
    stage.end(jobId(1), { kind: "postponed", waitMs: 200, shortage: true });
    await setImmediate();
    expect(stage.settled).toEqual([{ id: jobId(1), verdict: "release" }]);
    stage.dispatcher.wake([laneKey(1)]);
    await setImmediate();
    expect(stage.claims).toHaveLength(1);
    expect([stage.dispatcher.leaseId, stage.dispatcher.roomFor(workspaceId)]).toEqual([null, 0]);
    vi.advanceTimersByTime(199);
    expect(stage.claims).toHaveLength(1);
    vi.advanceTimersByTime(1);
    expect(stage.claims).toHaveLength(2);
    expect(stage.dispatcher.leaseId).toBe(7);
  });

  test("a job that waits for a secret keeps no other from being claimed", async () => {
    await stage.claimUnderWay().answer([claimed(1)]);
    stage.end(jobId(1), { kind: "postponed", waitMs: 60_000 });
    await setImmediate();
    stage.dispatcher.wake([laneKey(1)]);
    expect(stage.claims).toHaveLength(2);
  });
});

describe("an attempt of a worker that ends", () => {
  const DONE: AttemptResult = { kind: "accepted", status: null, result: null };
  test.each<[string, Partial<Claim>, AttemptResult]>([
    ["in a lane with limits", { limited: true }, DONE],
    ["of a job with a key", { concurrencyKey: "a" }, DONE],
    ["by a release", {}, { kind: "withdrawn" }],
  ])("an attempt of a worker that ends %s wakes workers on all nodes, and starts no claim of this one", async (_, more, result) => {
    await finishForWorker(
      {
        clock: { nowMs: () => 0, elapsedMs: () => 0 } as never,
        random: { bytes: (length) => Buffer.alloc(length), fraction: () => 0 },
        kinds: new JobKinds([]),
        settler: { addAll: async () => [true] } as never,
        waker: stage.dispatcher,
      },
      { claim: { ...claimed(1), ...more }, result, worker: "w1" },
    );
    expect([stage.pulled, stage.announced]).toEqual([[1], [{ laneId: 1, served: "pull" }]]);
    expect(stage.claims).toEqual([]);
  });
});

describe("a lane of a workflow", () => {
  test("is not claimed from again for 10 s when a claim has found that workers serve it", async () => {
    const stage = new DispatcherFixture();
    stage.elapsedMs = 0;
    stage.dispatcher.wakeWorkflows([laneKey(1)]);
    expect([stage.claims.length, stage.pulled, stage.announced]).toEqual([1, [1], [{ laneId: 1, served: "any" }]]);
    await stage.claims[0]?.answer([], [], [laneKey(1)]);
    stage.elapsedMs = 9_999;
    stage.dispatcher.wakeWorkflows([laneKey(1)]);
    expect([stage.claims.length, stage.pulled, stage.announced.at(-1)]).toEqual([1, [1, 1], { laneId: 1, served: "pull" }]);
    stage.elapsedMs = 10_000;
    stage.dispatcher.wakeWorkflows([laneKey(1)]);
    expect([stage.claims.length, stage.announced.at(-1)]).toEqual([2, { laneId: 1, served: "any" }]);
  });

  test("is claimed from at once again when a claim has brought jobs of it", async () => {
    const stage = new DispatcherFixture();
    stage.elapsedMs = 0;
    stage.dispatcher.wakeWorkflows([laneKey(1)]);
    await stage.claims[0]?.answer([], [], [laneKey(1)]);
    stage.dispatcher.wake([laneKey(1)]);
    await stage.claims[1]?.answer([claimed(1)]);
    stage.dispatcher.wakeWorkflows([laneKey(1)]);
    expect(stage.announced.at(-1)).toEqual({ laneId: 1, served: "any" });
  });
});

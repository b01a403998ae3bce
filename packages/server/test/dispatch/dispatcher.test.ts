import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { type Answer, type Attempt, type Claim, Dispatcher, type LaneKey, type Settler } from "#dispatch";
import type { JobId, Statement, WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { Verdict } from "../../src/dispatch/retry.ts";

const workspaceId = "01900000-0000-7000-8000-000000000001" as WorkspaceId;
const lane = (id: number): LaneKey => ({ workspaceId, laneId: id as LaneId });
const jobId = (id: number) => `01900000-0000-7000-8000-${String(id).padStart(12, "0")}` as JobId;

const row = (id: number, laneId = 1): Claim => ({
  workspaceId,
  laneId: laneId as LaneId,
  id: jobId(id),
  nodeId: 7,
  attempt: 1,
  attempts: 3,
  spared: 0,
  backoffDelayMs: 1_000,
  payload: "{}",
  tag: null,
  createdAt: "2026-11-21T12:00:00.000Z",
  startedAt: "2026-11-21T12:00:00.000Z",
  revision: 1,
});

/** Claims that were asked of the database; a test answers them when it wants to. */
let claims: { lanes: number[]; answer: (rows: object[]) => Promise<void> }[];
let started: Claim[];
let settled: { id: JobId; verdict: Verdict["kind"] }[];
let aborted: JobId[];
let heldBy: number | null;
let refuseToCarry: JobId | null;
let dispatcher: Dispatcher;

beforeEach(() => {
  claims = [];
  started = [];
  settled = [];
  aborted = [];
  heldBy = 7;
  refuseToCarry = null;
  const query = ({ values }: Statement) =>
    new Promise<{ rows: unknown[]; rowCount: null }>((resolve) => {
      const lanes = String(values.find((value) => /^\{\d+(,\d+)*\}$/.test(String(value))) ?? "{}")
        .slice(1, -1)
        .split(",")
        .map(Number);
      const answer = async (rows: object[]) => {
        resolve({ rows, rowCount: null });
        for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      };
      claims.push({ lanes, answer });
    });
  const start = (claim: Claim): Attempt => {
    if (claim.id === refuseToCarry) throw new Error("It cannot be carried.");
    started.push(claim);
    const answered = Promise.withResolvers<Answer>();
    return {
      answer: answered.promise,
      abort: () => {
        aborted.push(claim.id);
        answered.resolve({ kind: "withdrawn" });
      },
    };
  };
  const clock = { nowMs: () => 0, elapsedMs: () => performance.now() };
  const settler = { add: async ({ id }: Claim, { kind }: Verdict) => void settled.push({ id, verdict: kind }) } as unknown as Settler;
  dispatcher = new Dispatcher({
    db: { query },
    clock,
    random: { bytes: (length) => Buffer.alloc(length), fraction: () => 0 },
    emit: () => {},
    settler,
    capacity: 1_000,
    lease: {
      get heldBy() {
        return heldBy;
      },
    },
    carrier: { start, sweep: () => {} },
    onWaiting: () => {},
    onDueAt: () => {},
  });
});

const claimUnderWay = () => {
  dispatcher.wake([lane(1)]);
  const [claim] = claims;
  if (!claim) throw new Error("Nothing was claimed.");
  return claim;
};

describe("a claim whose answer comes late", () => {
  test("starts what it brings", async () => {
    await claimUnderWay().answer([row(1), row(2)]);
    expect(started.map(({ id, nodeId }) => [id, nodeId])).toEqual([
      [jobId(1), 7],
      [jobId(2), 7],
    ]);
  });

  test("starts no job that was cancelled meanwhile (I4)", async () => {
    const claim = claimUnderWay();
    dispatcher.abort(jobId(1));
    await claim.answer([row(1), row(2)]);
    expect(started.map(({ id }) => id)).toEqual([jobId(2)]);
  });

  test("starts no job of a queue that was deleted meanwhile", async () => {
    const claim = claimUnderWay();
    dispatcher.abortLane(lane(1).laneId);
    await claim.answer([row(1)]);
    expect(started).toEqual([]);
  });

  test("starts nothing when the node's lease was lost meanwhile: others may have the jobs (I3)", async () => {
    const claim = claimUnderWay();
    heldBy = null;
    dispatcher.abortAll();
    await claim.answer([row(1)]);
    expect(started).toEqual([]);
    expect(settled).toEqual([{ id: jobId(1), verdict: "giveBack" }]);
  });

  test("starts nothing when the node goes on under a new lease", async () => {
    const claim = claimUnderWay();
    heldBy = 8;
    dispatcher.abortAll();
    await claim.answer([row(1)]);
    expect(started).toEqual([]);
  });
});

describe("an attempt under way", () => {
  test("is broken off and its job given back when the lease is lost, so that nobody has to miss the node", async () => {
    await claimUnderWay().answer([row(1), row(2)]);
    heldBy = null;
    dispatcher.abortAll();
    await setImmediate();
    expect(aborted).toEqual([jobId(1), jobId(2)]);
    expect(settled).toEqual([
      { id: jobId(1), verdict: "giveBack" },
      { id: jobId(2), verdict: "giveBack" },
    ]);
    expect(dispatcher.inFlight).toBe(0);
  });

  test("is broken off when its job is cancelled, and no other", async () => {
    await claimUnderWay().answer([row(1), row(2)]);
    dispatcher.abort(jobId(1));
    await setImmediate();
    expect(aborted).toEqual([jobId(1)]);
    expect(dispatcher.inFlight).toBe(1);
  });

  test("is broken off when its queue is deleted, and no other", async () => {
    await claimUnderWay().answer([row(1, 1), row(2, 2)]);
    dispatcher.abortLane(lane(2).laneId);
    await setImmediate();
    expect(aborted).toEqual([jobId(2)]);
  });
});

describe("a job that went straight through", () => {
  const through = {
    workspaceId,
    nodeId: 7,
    inserted: {
      laneId: lane(1).laneId,
      state: "active" as const,
      attempts: 3,
      backoffDelayMs: 1_000,
      runAt: "",
      createdAt: "",
      revision: 1,
    },
  };
  const input = {
    id: jobId(1),
    straight: true,
    payload: "{}",
    delaySeconds: 0,
    runAtMs: null,
    tag: null,
    priority: 0,
    concurrencyKey: null,
    attempts: null,
    backoffDelayMs: null,
  };

  test("is started", () => {
    dispatcher.take([{ ...through, input }]);
    expect(started.map(({ id, attempt }) => [id, attempt])).toEqual([[jobId(1), 1]]);
  });

  test("is not started when the lease was lost while it was written (I3)", async () => {
    heldBy = null;
    dispatcher.take([{ ...through, input }]);
    await setImmediate();
    expect(started).toEqual([]);
    expect(settled).toEqual([{ id: jobId(1), verdict: "giveBack" }]);
  });
});

describe("a claim", () => {
  test("is not asked for while the lease is not surely held", () => {
    heldBy = null;
    dispatcher.wake([lane(1)]);
    expect(claims).toEqual([]);
  });

  test("is not asked for once the node drains", () => {
    dispatcher.stopClaiming();
    dispatcher.wake([lane(1)]);
    expect(claims).toEqual([]);
  });

  test("of one job that cannot be carried does not cost the others their attempt", async () => {
    refuseToCarry = jobId(1);
    await claimUnderWay().answer([row(1), row(2)]);
    expect(started.map(({ id }) => id)).toEqual([jobId(2)]);
    expect(settled).toEqual([{ id: jobId(1), verdict: "retry" }]);
  });

  test("that finds its lanes empty is followed by one for the lanes that had no turn", async () => {
    dispatcher.wake(Array.from({ length: 200 }, (_, index) => lane(index + 1)));
    await claims[0]?.answer([]);
    expect(new Set(claims.flatMap(({ lanes }) => lanes)).size).toBe(200);
  });

  test("is asked for again when a lane was woken while it was under way", async () => {
    const claim = claimUnderWay();
    dispatcher.wake([lane(1)]);
    await claim.answer([]);
    expect(claims.map(({ lanes }) => lanes)).toEqual([[1], [1]]);
  });

  test("is not asked for twice at once", () => {
    dispatcher.wake([lane(1)]);
    dispatcher.wake([lane(2)]);
    expect(claims).toHaveLength(1);
  });
});

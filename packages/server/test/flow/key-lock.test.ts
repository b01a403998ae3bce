import { describe, expect } from "vitest";
import { type Claim, claimAcrossWorkspaces } from "#jobs";
import { type JobId, sql, type Transactional } from "#kernel";
import { test as base, putLane } from "../harness/engine.ts";
import { FlowFixture } from "../harness/flow-fixture.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";
import { hold } from "../harness/locks.ts";
import { isAnyLockAwaited, overlap, type Run } from "../harness/overlap.ts";
import { until } from "../harness/service.ts";

const JOB = { ...PLAIN_JOB, concurrencyKey: "a" };
const COMPLETE = { kind: "complete", status: 200, result: null } as const;

/** A queue with a key. One of the key's jobs is active, and one waits. */
const test = base.extend("staged", async ({ database, engine, clock }) => {
  const world = new FlowFixture(database, engine, clock, await putLane(database));
  const leaseId = await world.startNode();
  await world.enqueue([JOB]);
  const [claim] = await world.claim(leaseId, 1, false);
  return { world, leaseId, claim: claim as Claim };
});

const startNext = async (world: FlowFixture, leaseId: number): Promise<JobId[]> =>
  (await world.claim(leaseId, 10, false)).map(({ id }) => id);

describe("a key whose slot is released while", () => {
  test("a job of it is being stored passes on to that job", async ({ staged: { world, leaseId, claim }, engine }) => {
    let stored: JobId[] = [];
    const enqueue = async (tx: Transactional) => {
      stored = await world.enqueue([JOB], tx);
    };
    const commit: Run = (work) => world.inTransaction(work);
    await overlap(engine, commit, enqueue, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, leaseId)).toEqual(stored);
  });

  test("its next job is being cancelled passes on to the one after", async ({ staged: { world, leaseId, claim }, engine }) => {
    const [next, after] = await world.enqueue([JOB, JOB]);
    const cancel = (tx: Transactional) => world.cancel(next as JobId, tx);
    const commit: Run = (work) => world.inTransaction(work);
    await overlap(engine, commit, cancel, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, leaseId)).toEqual([after]);
  });

  test("a cancel of its next job waits for the key passes on to that job, which is cancelled then", async ({
    staged: { world, leaseId, claim },
    database,
  }) => {
    const [next, after] = await world.enqueue([JOB, JOB]);
    let cancelling: Promise<unknown> | undefined;
    await world.inTransaction(async (tx) => {
      await tx.query(sql`select lock_keys(array[${world.lane.laneId}::bigint], array['a'])`);
      cancelling = world.cancel(next as JobId);
      await until(() => isAnyLockAwaited(database), "the cancel to wait");
      await world.settle(claim, COMPLETE, tx);
    });
    await cancelling;
    expect(await startNext(world, leaseId)).toEqual([after]);
  });

  test("a cancel of its next job comes to nothing passes on to that job", async ({ staged: { world, leaseId, claim }, engine }) => {
    const [next] = await world.enqueue([JOB]);
    const cancel = (tx: Transactional) => world.cancel(next as JobId, tx);
    const rollBack: Run = (work) => world.undone(work);
    await overlap(engine, rollBack, cancel, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, leaseId)).toEqual([next]);
  });
});

/** Makes claims of limited lanes wait for this lock after they have begun, before they lock a lane. */
const CLAIMS = sql`select pg_advisory_xact_lock(1)`;
const HOLD_CLAIMS_BACK = `
  alter function lock_lane_gates rename to lock_lane_gates_at_once;
  create function lock_lane_gates(workspaces uuid[], lanes bigint[], takes integer[]) returns table (take integer, gate lane_gate)
  language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return query select * from lock_lane_gates_at_once(workspaces, lanes, takes); end $$`;
const LET_CLAIMS_GO = "drop function lock_lane_gates; alter function lock_lane_gates_at_once rename to lock_lane_gates";

describe("a claim that began before a settle and locks the lane after it", () => {
  test("leaves the key's next job to a claim that follows at once, and takes no job of a lower priority instead", async ({
    staged: { world, leaseId, claim },
    database,
    engine,
  }) => {
    await world.limit({ concurrency: 1, perKey: 1, rate: null, paused: false });
    const [next] = await world.enqueue([{ ...JOB, priority: 1 }, PLAIN_JOB]);
    await database.query(HOLD_CLAIMS_BACK);
    const lock = hold(engine, CLAIMS);
    await lock.held;
    const claiming = claimAcrossWorkspaces(engine, { leaseId, served: "push" }, [{ ...world.lane, take: 1 }], true);
    await until(() => isAnyLockAwaited(database), "the claim to begin");
    await world.settle(claim, COMPLETE);
    await lock.release();
    const { claims, found } = await claiming;
    await database.query(LET_CLAIMS_GO);
    expect([claims, found[0]?.opensInMs]).toEqual([[], 0]);
    expect((await world.claim(leaseId, 1, true)).map(({ id }) => id)).toEqual([next]);
  });
});

import { describe, expect } from "vitest";
import type { Claim } from "#dispatch";
import { type JobId, sql, type Transactional } from "#kernel";
import type { TestDatabase } from "../harness/database.ts";
import { test as base, putLane } from "../harness/engine.ts";
import { FlowWorld } from "../harness/flow-world.ts";
import { until } from "../harness/service.ts";

const JOB = {
  payload: "{}",
  delaySeconds: 0,
  runAtMs: null,
  tag: null,
  priority: 0,
  concurrencyKey: "a",
  attempts: 3,
  backoffDelayMs: null,
  idempotency: null,
};
const COMPLETE = { kind: "complete", status: 200, result: null } as const;

/** A queue with a key of which one job is under way and one waits. */
const test = base.extend("staged", async ({ database, engine, clock }) => {
  const world = new FlowWorld(database, engine, clock, await putLane(database));
  const nodeId = await world.startNode();
  await world.enqueue([JOB]);
  const [claim] = await world.claim(nodeId, 1, false);
  return { world, nodeId, claim: claim as Claim };
});

type Run = (work: (tx: Transactional) => Promise<unknown>) => Promise<unknown>;

/** Has `first` stand between its work and the end of its transaction until `second` is done, or waits for it. */
async function beside(database: TestDatabase, run: Run, first: (tx: Transactional) => Promise<unknown>, second: () => Promise<unknown>) {
  let done = false;
  let other: Promise<unknown> | undefined;
  await run(async (tx) => {
    await first(tx);
    other = second().finally(() => {
      done = true;
    });
    await until(async () => done || (await isAnybodyWaiting(database)), "the other to be done, or to wait");
  });
  await other;
}

const isAnybodyWaiting = async (database: TestDatabase): Promise<boolean> =>
  (await database.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;

const startNext = async (world: FlowWorld, nodeId: number): Promise<JobId[]> => (await world.claim(nodeId, 10, false)).map(({ id }) => id);

describe("a key whose slot is given back while", () => {
  test("a job of it is being stored passes on to that job", async ({ staged: { world, nodeId, claim }, database }) => {
    let stored: JobId[] = [];
    const enqueue = async (tx: Transactional) => {
      stored = await world.enqueue([JOB], tx);
    };
    const commit: Run = (work) => world.inTransaction(work);
    await beside(database, commit, enqueue, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, nodeId)).toEqual(stored);
  });

  test("its next job is being cancelled passes on to the one after", async ({ staged: { world, nodeId, claim }, database }) => {
    const [next, after] = await world.enqueue([JOB, JOB]);
    const cancel = (tx: Transactional) => world.cancel(next as JobId, tx);
    const commit: Run = (work) => world.inTransaction(work);
    await beside(database, commit, cancel, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, nodeId)).toEqual([after]);
  });

  test("a cancel of its next job waits for the key passes on to that job, which is cancelled then", async ({
    staged: { world, nodeId, claim },
    database,
  }) => {
    const [next, after] = await world.enqueue([JOB, JOB]);
    let cancelling: Promise<unknown> | undefined;
    await world.inTransaction(async (tx) => {
      await tx.query(sql`select lock_keys(array[${world.lane.laneId}::bigint], array['a'])`);
      cancelling = world.cancel(next as JobId);
      await until(() => isAnybodyWaiting(database), "the cancel to wait");
      await world.settle(claim, COMPLETE, tx);
    });
    await cancelling;
    expect(await startNext(world, nodeId)).toEqual([after]);
  });

  test("a cancel of its next job comes to nothing passes on to that job", async ({ staged: { world, nodeId, claim }, database }) => {
    const [next] = await world.enqueue([JOB]);
    const cancel = (tx: Transactional) => world.cancel(next as JobId, tx);
    const rollBack: Run = (work) => world.undone(work);
    await beside(database, rollBack, cancel, () => world.settle(claim, COMPLETE));
    expect(await startNext(world, nodeId)).toEqual([next]);
  });
});

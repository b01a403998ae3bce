import { describe, expect } from "vitest";
import { JobKinds, releaseAll, Settler } from "#engine";
import { type Claim, claimAcrossWorkspaces } from "#jobs";
import { Database, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { removeOldLeases } from "../../src/engine/leases/store.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { lockWaits } from "../harness/lock-waits.ts";
import { type HeldLock, hold } from "../harness/locks.ts";
import { register, renew } from "../harness/node-leases.ts";
import { QUEUE_KINDS, rescue, rescueOf } from "../harness/rescue.ts";
import { until } from "../harness/service.ts";

// No node runs on this file's database. Only these tests rescue jobs.

describe("a node whose lease has run out", () => {
  test("a node whose lease has run out claims nothing", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting" });
    const dead = await putNode(database, { alive: false });
    expect(await claimAcrossWorkspaces(engine, { leaseId: dead, served: "push" }, [{ ...lane, take: 1 }])).toEqual({
      claims: [],
      found: [],
    });
    expect(await claimAcrossWorkspaces(engine, { leaseId: 999_999_999, served: "push" }, [{ ...lane, take: 1 }])).toEqual({
      claims: [],
      found: [],
    });
  });

  test("never has it back", async ({ database, engine }) => {
    expect(await renew(engine, await putNode(database, { alive: false }), 15)).toBeNull();
    expect(await renew(engine, await putNode(database), 15)).not.toBeNull();
    const [one, two] = [await register(engine, 15), await register(engine, 15)];
    expect(two?.id).toBeGreaterThan(one?.id ?? Number.NaN);
  });

  test("a node learns the other live nodes with its lease, and at each renewal", async ({ database, engine }) => {
    const [dead, live] = [String(await putNode(database, { alive: false })), String(await putNode(database))];
    const node = await register(engine, 15);
    const id = node?.id as number;
    const renewed = await renew(engine, id, 15);
    for (const peers of [node?.peers, renewed?.peers]) {
      expect(peers).toContain(live);
      expect(peers).not.toContain(dead);
      expect(peers).not.toContain(String(id));
    }
  });

  test("a node whose lease has run out is forgotten after an hour, unless jobs are still under its name", async ({ database, engine }) => {
    const [gone, holding] = [await putNode(database, { alive: false }), await putNode(database, { alive: false })];
    await database.query("update lease set expires_at = now() - interval '61 minutes' where id = any($1)", [[gone, holding]]);
    await putJobs(database, await putLane(database), { state: "active", leaseId: holding });
    await removeOldLeases(engine);
    const left = await database.query<{ id: string }>("select id from lease where id = any($1)", [[gone, holding]]);
    expect(left.map((node) => Number(node.id))).toEqual([holding]);
  });
});

describe("a rescue", () => {
  test("a rescue takes the jobs of all dead nodes, and of no live one", async ({ database, engine }) => {
    const lane = await putLane(database);
    for (const alive of [false, false, true])
      await putJobs(database, lane, { state: "active", leaseId: await putNode(database, { alive }), count: 2 });
    await rescue(engine);
    const found = await database.query("select state, count(*)::int from job where lane_id = $1 group by 1 order by 1", [lane.laneId]);
    expect(found).toEqual([
      { state: "waiting", count: 4 },
      { state: "active", count: 2 },
    ]);
  });

  test("wakes the lanes of what it took, each once", async ({ database, engine }) => {
    const leaseId = await putNode(database, { alive: false });
    const lanes = [await putLane(database), await putLane(database)];
    for (const lane of lanes) await putJobs(database, lane, { state: "active", leaseId, count: 3 });
    const woken = await rescue(engine);
    expect(woken).toHaveLength(2);
    expect(woken).toEqual(expect.arrayContaining(lanes));
  });

  test("a rescue by several nodes at once takes each job once", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "active", leaseId: await putNode(database, { alive: false }), count: 50 });
    await Promise.all([rescue(engine), rescue(engine), rescue(engine)]);
    expect(await database.query("select distinct state, node_losses, spared, attempt from job where lane_id = $1", [lane.laneId])).toEqual([
      { state: "waiting", node_losses: 1, spared: 1, attempt: 1 },
    ]);
  });

  test("a rescue takes a job whose key another transaction has locked after all others", async ({ database, engine }) => {
    const leaseId = await putNode(database, { alive: false });
    const [locked, free] = [await putLane(database), await putLane(database)];
    for (const lane of [locked, free]) await putJobs(database, lane, { state: "active", leaseId });
    await database.query("update job set concurrency_key = 'k', key_slot = 1 where lease_id = $1", [leaseId]);
    const states = () =>
      Promise.all([locked, free].map(({ laneId }) => database.query("select state, key_slot from job where lane_id = $1", [laneId])));
    const lock = hold(engine, sql`select lock_keys(array[${locked.laneId}::bigint], array['k'])`);
    await lock.held;
    const rescued = rescue(engine);
    await lock.untilWaiting(1);
    expect(await states()).toEqual([[{ state: "active", key_slot: 1 }], [{ state: "waiting", key_slot: 1 }]]);
    await lock.release();
    expect(await rescued).toEqual([free, locked]);
    expect(await states()).toEqual(Array(2).fill([{ state: "waiting", key_slot: 1 }]));
  });

  /** Two lanes with a claimed job each, whose keys are locked. */
  async function lockedLanes(database: TestDatabase, engine: Database, leaseId: number) {
    const lanes = [await putLane(database), await putLane(database)].sort((one, other) => one.laneId - other.laneId);
    for (const lane of lanes) await putJobs(database, lane, { state: "active", leaseId });
    await database.query("update job set concurrency_key = 'k', key_slot = 1 where lease_id = $1", [leaseId]);
    const locks = lanes.map(({ laneId }) => hold(engine, sql`select lock_keys(array[${laneId}::bigint], array['k'])`));
    await Promise.all(locks.map(({ held }) => held));
    const states = async () =>
      (
        await database.query<{ state: string }>("select state from job where lane_id = any($1) order by lane_id", [
          lanes.map(({ laneId }) => laneId),
        ])
      ).map(({ state }) => state);
    return { lanes: lanes as [LaneKey, LaneKey], locks: locks as [HeldLock, HeldLock], states };
  }

  test("a rescue that waits for a locked key holds up no other lane whose key was locked", async ({ database, engine }) => {
    const { lanes, locks, states } = await lockedLanes(database, engine, await putNode(database, { alive: false }));
    const { rescue, woken } = rescueOf(engine);
    expect(await rescue.passAcrossWorkspaces()).toBe(1_000);
    await locks[0].untilWaiting(1);
    await locks[1].release();
    await rescue.passAcrossWorkspaces();
    expect(await states()).toEqual(["active", "waiting"]);
    await locks[0].release();
    await rescue.stop();
    expect(await states()).toEqual(["waiting", "waiting"]);
    expect(woken).toEqual([lanes[1], lanes[0]]);
  });

  test("a rescue takes a job that comes after more jobs with locked keys than one statement takes", async ({ database, engine }) => {
    const leaseId = await putNode(database, { alive: false });
    const [locked, free] = [await putLane(database), await putLane(database)];
    await putJobs(database, locked, { state: "active", leaseId, count: 5_000 });
    await database.query(
      `update job set concurrency_key = 'k', key_slot = n.slot from (select id, row_number() over (order by id) as slot from job where lane_id = $1) n
       where job.id = n.id and lane_id = $1`,
      [locked.laneId],
    );
    await putJobs(database, free, { state: "active", leaseId });
    const lock = hold(engine, sql`select lock_keys(array[${locked.laneId}::bigint], array['k'])`);
    await lock.held;
    const { rescue, woken } = rescueOf(engine);
    await rescue.passAcrossWorkspaces();
    expect(woken).toEqual([free]);
    await lock.release();
    await rescue.stop();
    expect(await database.query("select from job where lease_id = $1", [leaseId])).toEqual([]);
  });

  test("a node that stops releases jobs whose keys are locked lane by lane", async ({ database, engine, onTestFinished }) => {
    const db = new Database({ connection: { connectionString: database.url }, size: 2, statementTimeoutMs: 60_000 });
    onTestFinished(() => db.close());
    const leaseId = await putNode(database);
    const { lanes, locks, states } = await lockedLanes(database, engine, leaseId);
    const woken: LaneKey[] = [];
    const waker = { wake: (woke: Iterable<LaneKey>) => void woken.push(...woke), wakeAt: () => {} };
    const released = releaseAll({ db, emit: () => {}, kinds: QUEUE_KINDS, clock: { elapsedMs: () => 0 }, waker }, leaseId);
    await locks[0].untilWaiting(1);
    await locks[1].release();
    await until(() => woken.length > 0, "the other lane to be released");
    expect(await states()).toEqual(["active", "waiting"]);
    await locks[0].release();
    await released;
    expect(woken).toEqual([lanes[1], lanes[0]]);
  });

  test("a rescue finds expired claims besides those that wait to be settled", async ({ database, engine, onTestFinished }) => {
    const lane = await putLane(database);
    const ids = await putJobs(database, lane, { state: "active", leaseId: await putNode(database, { alive: false }), count: 501 });
    await database.query("update job set kind = 'hook' where lane_id = $1", [lane.laneId]);
    const deliverer = { start: () => expect.fail(), enforceDeadlines: () => {} };
    const kinds = new JobKinds([{ name: "hook", recorded: true, once: true, deliverer }]);
    const written = Promise.withResolvers<{ rows: [] }>();
    const settler = new Settler(
      { query: () => written.promise, transaction: () => written.promise as never },
      kinds,
      () => {},
      lockWaits(),
    );
    onTestFinished(() => {
      settler.giveUp();
      written.resolve({ rows: [] });
    });
    const { rescue } = rescueOf(engine, kinds, settler);
    const settling = () => ids.filter((id) => settler.isSettling({ id, attempt: 1 } as Claim)).length;
    expect(await rescue.passAcrossWorkspaces()).toBe(0);
    expect(settling()).toBe(500);
    expect(await rescue.passAcrossWorkspaces()).toBeUndefined();
    expect(settling()).toBe(501);
    await database.query("delete from job where lane_id = $1", [lane.laneId]);
  });

  test("a rescue takes more jobs than one statement does", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "active", leaseId: await putNode(database, { alive: false }), count: 5_001 });
    await rescue(engine);
    expect(await database.query("select distinct state from job where lane_id = $1", [lane.laneId])).toEqual([{ state: "waiting" }]);
  });
});

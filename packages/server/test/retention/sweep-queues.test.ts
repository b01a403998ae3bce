import { JOB_STATES } from "@tidemill/contract";
import { describe, expect } from "vitest";
import { type Db, type EmitEvent, type Transactional, unavailable } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { foldTallyAcrossWorkspaces } from "../../src/jobs/store/tally.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putCircuit, putLane, putNode, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { putSchedule } from "../harness/schedules.ts";

/** What is left of a lane: rows of live jobs, of history, of the tally, of circuits, of schedules, and of the queue itself. */
async function leftOf(database: TestDatabase, { laneId }: LaneKey) {
  const [left] = await database.query(
    `select (select count(*)::int from job where lane_id = $1) as live, (select count(*)::int from job_history where lane_id = $1) as history,
       (select count(*)::int from tally where lane_id = $1) as tally, (select count(*)::int from circuit where lane_id = $1) as circuit,
       (select count(*)::int from schedule where lane_id = $1) as schedules,
       (select count(*)::int from lane where id = $1) as queue`,
    [laneId],
  );
  return left;
}

/** A queue with a job of every state, and a schedule. */
async function fullLane(database: TestDatabase): Promise<LaneKey> {
  const lane = await putLane(database, { paused: true });
  const leaseId = await putNode(database);
  for (const state of JOB_STATES) await putJobs(database, lane, state === "active" ? { state, leaseId } : { state });
  await database.query("insert into tally (workspace_id, lane_id, at, completed) values ($1, $2, moment(), 1)", [
    lane.workspaceId,
    lane.laneId,
  ]);
  await putCircuit(database, lane);
  await putSchedule(database, lane);
  return lane;
}

const markDeleted = (database: TestDatabase, { laneId }: LaneKey) =>
  database.query("update lane set deleted_at = moment() where id = $1", [laneId]);

// No node runs here: it would sweep, too.
describe("a deleted queue", () => {
  test("a deleted queue loses all its jobs, whatever their state, and its schedules; other queues lose nothing", async ({
    database,
    engine,
  }) => {
    const [deleted, kept] = [await fullLane(database), await fullLane(database)];
    const before = await leftOf(database, kept);
    await markDeleted(database, deleted);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    expect(await leftOf(database, deleted)).toEqual({ live: 0, history: 0, tally: 0, circuit: 1, schedules: 0, queue: 1 });
    expect(await leftOf(database, kept)).toEqual(before);
  });

  test("a deleted queue stays for a minute as a row, and what slipped in meanwhile is swept too", async ({ database, clock, engine }) => {
    const lane = await fullLane(database);
    await markDeleted(database, lane);
    await clock.advance(60);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    await putJobs(database, lane, { state: "waiting" });
    expect(await leftOf(database, lane)).toMatchObject({ live: 1, queue: 1 });
    await clock.advance(0.001);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    expect(await leftOf(database, lane)).toEqual({ live: 0, history: 0, tally: 0, circuit: 0, schedules: 0, queue: 0 });
  });

  test("a deleted queue loses more jobs than one statement takes, a portion in each pass", async ({ database, engine }) => {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "waiting", count: 5_001 });
    await putJobs(database, lane, { state: "completed", count: 5_001 });
    await markDeleted(database, lane);
    const sweep = () => sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    expect(await sweep()).toBe(0);
    expect(await leftOf(database, lane)).toMatchObject({ live: 1, history: 5_001 });
    expect(await sweep()).toBe(0);
    expect(await leftOf(database, lane)).toMatchObject({ live: 0, history: 1 });
    expect(await sweep()).toBeUndefined();
    expect(await leftOf(database, lane)).toMatchObject({ live: 0, history: 0 });
  });

  test("a deleted queue that cannot be swept is reported, also by a pass that ends with another one", async ({ database, engine }) => {
    const [bad, large] = [await putLane(database, { paused: true }), await putLane(database, { paused: true })];
    await putJobs(database, large, { state: "waiting", count: 5_001 });
    for (const lane of [bad, large]) await markDeleted(database, lane);
    const refusing: Transactional = {
      query: async (statement) => (statement.values.includes(bad.laneId) ? Promise.reject(new Error("Refused.")) : engine.query(statement)),
      transaction: (work) =>
        engine.transaction((tx) =>
          work({
            query: (statement) => (statement.values.includes(bad.laneId) ? Promise.reject(new Error("Refused.")) : tx.query(statement)),
          }),
        ),
    };
    const told: unknown[] = [];
    const emit: EmitEvent = (event, fields) => told.push({ event, ...fields });
    expect(await sweepDeletedLanesAcrossWorkspaces(refusing, () => {}, emit)).toBe(0);
    expect(told).toEqual([{ event: "lane_sweep_failed", ...bad, error: expect.objectContaining({ message: "Refused." }) }]);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  });

  /** A database in which what is swept of some lanes takes too long. Lists the lanes that were tried. */
  function slowFor(engine: Transactional, slow: ReadonlySet<LaneId>) {
    const tried: LaneId[] = [];
    const query: Transactional["query"] = async (statement) => {
      const lane = statement.values.find((value): value is LaneId => slow.has(value as LaneId));
      if (lane === undefined) return engine.query(statement);
      tried.push(lane);
      throw Object.assign(unavailable(), { cause: { code: "57014" } });
    };
    const db: Transactional = {
      query,
      transaction: (work) =>
        engine.transaction((tx) =>
          work({
            query: (statement) => (statement.values.some((value) => slow.has(value as LaneId)) ? query(statement) : tx.query(statement)),
          }),
        ),
    };
    return { db, tried };
  }

  test("a deleted queue is swept though others take too long: a pass ends with the second of these, and the next begins with others", async ({
    database,
    engine,
  }) => {
    const lanes = [await putLane(database), await putLane(database), await putLane(database)];
    const good = await fullLane(database);
    for (const lane of [...lanes, good]) await markDeleted(database, lane);
    const [one, two, three] = lanes.map(({ laneId }) => laneId);
    const { db, tried } = slowFor(engine, new Set(lanes.map(({ laneId }) => laneId)));
    const told: string[] = [];
    const failed = new Set<LaneId>();
    const pass = () =>
      sweepDeletedLanesAcrossWorkspaces(
        db,
        () => {},
        (event) => told.push(event),
        failed,
      );
    await expect(pass()).rejects.toMatchObject({ cause: { code: "57014" } });
    expect([tried.splice(0), told.splice(0)]).toEqual([[one, two], Array(2).fill("lane_sweep_failed")]);
    expect(await leftOf(database, good)).toMatchObject({ live: 5 });
    await expect(pass()).rejects.toMatchObject({ cause: { code: "57014" } });
    expect([tried, told]).toEqual([[three, one], Array(2).fill("lane_sweep_failed")]);
    expect(await leftOf(database, good)).toMatchObject({ live: 0 });
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  });

  test("a deleted queue that no longer takes too long is swept, though two others still do", async ({ database, engine }) => {
    const lanes = [await putLane(database), await putLane(database), await fullLane(database), await putLane(database)];
    for (const lane of lanes) await markDeleted(database, lane);
    const slow = new Set(lanes.map(({ laneId }) => laneId));
    const { db, tried } = slowFor(engine, slow);
    const failed = new Set<LaneId>();
    const pass = () =>
      sweepDeletedLanesAcrossWorkspaces(
        db,
        () => {},
        () => {},
        failed,
      );
    for (let passes = 0; passes < 2; passes += 1) await expect(pass()).rejects.toThrow();
    const [one, two, recovered, other] = lanes as [LaneKey, LaneKey, LaneKey, LaneKey];
    slow.delete(recovered.laneId);
    slow.delete(other.laneId);
    tried.length = 0;
    for (let passes = 0; passes < 2; passes += 1) await expect(pass()).rejects.toThrow();
    expect(tried).toEqual([one, two, one, two].map(({ laneId }) => laneId));
    expect(await leftOf(database, recovered)).toMatchObject({ live: 0 });
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  });

  test("queues that can never be swept keep no later one from it, however many, and take turns", async ({ database, engine, clock }) => {
    await clock.advance(61);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    const bad: LaneKey[] = [];
    for (let count = 0; count < 101; count += 1) bad.push(await putLane(database, { paused: true }));
    const good = await fullLane(database);
    for (const lane of [...bad, good]) await markDeleted(database, lane);
    const refused = new Set(bad.map(({ laneId }) => laneId));
    const tried: LaneId[] = [];
    const refusing: Db["query"] = async (statement) => {
      const lane = statement.values.find((value) => refused.has(value as LaneId)) as LaneId | undefined;
      if (lane === undefined) return engine.query(statement);
      tried.push(lane);
      throw new Error("Refused.");
    };
    const db: Transactional = { query: refusing, transaction: (work) => engine.transaction(work) };
    const failed = new Set<LaneId>();
    const triedBy = async () => {
      const before = tried.length;
      await expect(
        sweepDeletedLanesAcrossWorkspaces(
          db,
          () => {},
          () => {},
          failed,
        ),
      ).rejects.toThrow("Refused.");
      return tried.slice(before);
    };
    const ids = bad.map(({ laneId }) => laneId);
    const [last, ...others] = ids.toReversed() as [LaneId, ...LaneId[]];
    expect(await triedBy()).toEqual(others.toReversed());
    expect(await triedBy()).toEqual([last, ...others.toReversed()]);
    expect(await leftOf(database, good)).toMatchObject({ live: 0, history: 0 });
    expect(await triedBy()).toEqual([last, ...others.toReversed().slice(0, 99)]);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  });

  test("a deleted queue is swept though its tally is being folded", async ({ database, engine, clock }) => {
    const lane = await fullLane(database);
    await clock.advance(600);
    await markDeleted(database, lane);
    await Promise.all([foldTallyAcrossWorkspaces(engine), sweepDeletedLanesAcrossWorkspaces(engine, () => {})]);
    await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
    expect(await leftOf(database, lane)).toMatchObject({ live: 0, history: 0, tally: 0 });
  });
});

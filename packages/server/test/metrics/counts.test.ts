import { readdirSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { sweepLaneJobs } from "#jobs";
import type { JobId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { foldCountsAcrossWorkspaces } from "../../src/jobs/store/fold-counts.ts";
import { foldTallyAcrossWorkspaces } from "../../src/jobs/store/tally.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { FlowFixture } from "../harness/flow-fixture.ts";
import { PLAIN_JOB, putJobs } from "../harness/jobs.ts";
import { CountingWorker } from "./counting-worker.ts";

const SEEDS = [1, 2, 3];
const WORKERS = 5;
const STEPS = 50;
const ROUNDS = 3;

/** Lanes in which the kept number of jobs differs from the jobs, and finished jobs whose number differs from history. */
async function driftOf(database: TestDatabase): Promise<unknown[]> {
  const unfinished = await database.query("select * from count_drift(null)");
  const finished = await database.query(`
    select workspace_id, lane_id, state, sum(n) as drift from (
      select workspace_id, lane_id, state::text, 1 as n from job_history
      union all select workspace_id, lane_id, 'completed', -completed from tally_now
      union all select workspace_id, lane_id, 'cancelled', -cancelled from tally_now
      union all select workspace_id, lane_id, 'rejected', -rejected from tally_now) counted
    group by 1, 2, 3 having sum(n) <> 0`);
  return [...unfinished, ...finished];
}

async function putApprovals(database: TestDatabase): Promise<LaneKey> {
  const lane = await putLane(database);
  await database.query("update queue set type = 'approval', approval_timeout = 4, on_timeout = 'approve' where id = $1", [lane.laneId]);
  return lane;
}

async function putWorkflowLane(database: TestDatabase, { workspaceId }: LaneKey): Promise<LaneKey> {
  const [lane] = await database.query<{ id: string }>(
    "insert into lane (workspace_id, kind, name, served) values ($1, 'workflow', 'flow', 'pull') returning id",
    [workspaceId],
  );
  return { workspaceId, laneId: Number(lane?.id) as LaneId };
}

describe("kept counts", () => {
  test.for(SEEDS)(
    "the kept number of jobs is that of the jobs, whatever moves them at the same moment (seed %i)",
    async (seed, { database, engine, clock }) => {
      const [lane, approvals] = [await putLane(database), await putApprovals(database)];
      let ids = 0;
      const lanes = {
        engine,
        queue: new FlowFixture(database, engine, clock, lane),
        approvals: new FlowFixture(database, engine, clock, approvals),
        workflow: await putWorkflowLane(database, lane),
        nodes: [await putNode(database), await putNode(database), await putNode(database)],
        newId: () => `0190000${seed}-0000-7000-8000-${String(++ids).padStart(12, "0")}` as JobId,
      };
      const workers = Array.from({ length: WORKERS }, (_, index) => new CountingWorker(lanes, seed * 1_000 + index * 77));
      for (let round = 0; round < ROUNDS; round += 1) {
        const drifts: unknown[] = [];
        const working = Promise.all(workers.map((worker) => worker.work(STEPS)));
        for (let look = 0; look < 10; look += 1) drifts.push(...(await database.query("select * from count_drift(null)")));
        await working;
        expect(drifts).toEqual([]);
        expect(await driftOf(database)).toEqual([]);
        const lost = lanes.nodes.shift() as number;
        await lanes.queue.killNode(lost);
        lanes.nodes.push(await putNode(database));
        await clock.advance(2);
        expect(await driftOf(database)).toEqual([]);
        await foldCountsAcrossWorkspaces(engine);
        expect(await database.query("select from job_delta")).toEqual([]);
        expect(await driftOf(database)).toEqual([]);
      }
      await clock.advance(200);
      await foldTallyAcrossWorkspaces(engine);
      expect(await driftOf(database)).toEqual([]);
      const [states] = await database.query<{ kept: number }>(
        "select count(*)::int as kept from job_count where live > 0 and delayed + pending_approval + dead > 0",
      );
      expect(states?.kept).toBeGreaterThan(0);
    },
  );

  test("folding by several nodes at once loses and doubles nothing", async ({ database, engine, clock }) => {
    const world = new FlowFixture(database, engine, clock, await putLane(database));
    for (let one = 0; one < 30; one += 1) await world.enqueue([{ ...PLAIN_JOB, delaySeconds: one % 2 }]);
    await Promise.all([1, 2, 3, 4].map(() => foldCountsAcrossWorkspaces(engine)));
    expect(await database.query("select live::int, delayed::int from job_count where lane_id = $1", [world.lane.laneId])).toEqual([
      { live: 15, delayed: 15 },
    ]);
    expect(
      await database.query("select lane_id = 0 as total, span, enqueued::int from job_metric where workspace_id = $1 order by 1, 2", [
        world.lane.workspaceId,
      ]),
    ).toEqual([
      { total: false, span: 60, enqueued: 30 },
      { total: false, span: 3600, enqueued: 30 },
      { total: true, span: 60, enqueued: 30 },
      { total: true, span: 3600, enqueued: 30 },
    ]);
  });

  test("counts of a deleted queue go with it, also those that come late", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting", count: 3 });
    await foldCountsAcrossWorkspaces(engine);
    await sweepLaneJobs(engine, lane);
    expect(await driftOf(database)).toEqual([]);
    await database.query("insert into job_delta (workspace_id, lane_id, at, live) values ($1, $2, moment(), 1)", [
      lane.workspaceId,
      lane.laneId,
    ]);
    await database.query("delete from lane where id = $1", [lane.laneId]);
    await foldCountsAcrossWorkspaces(engine);
    for (const table of ["job_delta", "job_count", "job_metric", "tally"])
      expect([table, await database.query(`select from ${table} where lane_id = $1`, [lane.laneId])]).toEqual([table, []]);
  });

  test("a recount corrects what is wrong once, however many nodes do it", async ({ database }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting", count: 3 });
    await database.query("update job set state = 'delayed' where lane_id = $1", [lane.laneId]);
    expect(await driftOf(database)).toMatchObject([{ live: "-3", delayed: "3" }]);
    const corrected = await Promise.all(
      [1, 2, 3].map(() => database.query<{ n: string }>("select recount_jobs($1) as n", [lane.workspaceId])),
    );
    expect(corrected.map(([one]) => Number(one?.n)).sort()).toEqual([0, 0, 1]);
    expect(await driftOf(database)).toEqual([]);
  });

  test("every statement that inserts, moves or deletes jobs keeps the counts", () => {
    const store = new URL("../../src/jobs/store/", import.meta.url);
    const silent = readdirSync(store).flatMap((file) => {
      const text = readFileSync(new URL(file, store), "utf8");
      const statements = text.split(/\bsql`/).slice(1);
      return statements
        .filter((statement) =>
          /insert into job\b|delete from job\b|update job\b(?:(?!\bwhere\b|\bfrom\b)[^;`])*\bstate =|\$\{moved\}/.test(statement),
        )
        .filter(
          (statement) =>
            !/\$\{(counted|COUNT_\w+)\}|insert into job_delta/.test(statement) && !statement.includes("state = 'active', attempt"),
        )
        .map(() => file);
    });
    expect(silent).toEqual([]);
  });

  test("benches and tests insert jobs by SQL only with the function that corrects the counts", () => {
    const root = new URL("../../../../", import.meta.url);
    const folders = ["bench/", "packages/server/test/", "packages/dashboard/test/", "packages/sdk/test/", "packages/cli/test/"];
    const files = folders.flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" }).flatMap((file) =>
        file.endsWith(".ts") ? folder + file : [],
      ),
    );
    // The second inserts what the jobs of a deleted workspace leave behind: it has no lane, and so no count.
    const exempt = ["packages/server/test/harness/jobs.ts", "packages/server/test/retention/sweep-workspaces.test.ts"];
    const silent = files.filter((file) => {
      const text = readFileSync(new URL(file, root), "utf8");
      const inserts = text.match(/insert\s+into\s+(tidemill\.)?job\s*\(/g)?.length ?? 0;
      const counted = text.match(/\binsertJobs(?:<[^(]*>)?\(\s*\w+,\s*(sql)?`[^`]*\binsert into job\s*\(/g)?.length ?? 0;
      return inserts !== counted && !exempt.includes(file);
    });
    expect(silent).toEqual([]);
  });
});

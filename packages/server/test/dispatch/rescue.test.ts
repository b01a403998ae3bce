import { describe, expect } from "vitest";
import { forgetNodes, type LaneKey, rescueAcrossWorkspaces } from "#dispatch";
import type { Database } from "#kernel";
import { claimAcrossWorkspaces, registerNode, renewLease } from "../../src/dispatch/store.ts";
import { putLane, putNode, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

// No node runs on this file's database: what is rescued, these tests rescue.

describe("a node whose lease has run out", () => {
  test("a node whose lease has run out claims nothing", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting" });
    const dead = await putNode(database, { alive: false });
    expect(await claimAcrossWorkspaces(engine, dead, [{ ...lane, take: 1 }])).toEqual({ claims: [], found: [] });
    expect(await claimAcrossWorkspaces(engine, 999_999_999, [{ ...lane, take: 1 }])).toEqual({ claims: [], found: [] });
  });

  test("a node whose lease has run out never has it back", async ({ database, engine }) => {
    expect(await renewLease(engine, await putNode(database, { alive: false }), 15, [])).toBeNull();
    expect(await renewLease(engine, await putNode(database), 15, [])).not.toBeNull();
    const [one, two] = [await registerNode(engine, 15, []), await registerNode(engine, 15, [])];
    expect(two?.id).toBeGreaterThan(one?.id ?? Number.NaN);
  });

  test("a node whose lease has run out is forgotten after an hour, unless jobs are still under its name", async ({ database, engine }) => {
    const [gone, holding] = [await putNode(database, { alive: false }), await putNode(database, { alive: false })];
    await database.query("update node set lease_until = now() - interval '61 minutes' where id = any($1)", [[gone, holding]]);
    await putJobs(database, await putLane(database), { state: "active", nodeId: holding });
    await forgetNodes(engine);
    const left = await database.query<{ id: string }>("select id from node where id = any($1)", [[gone, holding]]);
    expect(left.map((node) => Number(node.id))).toEqual([holding]);
  });
});

async function rescue(engine: Database): Promise<LaneKey[]> {
  const woken: LaneKey[] = [];
  await rescueAcrossWorkspaces(
    engine,
    () => {},
    (lanes) => woken.push(...lanes),
  );
  return woken;
}

describe("a rescue", () => {
  test("a rescue takes the jobs of all dead nodes, and of no live one", async ({ database, engine }) => {
    const lane = await putLane(database);
    for (const alive of [false, false, true])
      await putJobs(database, lane, { state: "active", nodeId: await putNode(database, { alive }), count: 2 });
    await rescue(engine);
    const found = await database.query("select state, count(*)::int from job where lane_id = $1 group by 1 order by 1", [lane.laneId]);
    expect(found).toEqual([
      { state: "waiting", count: 4 },
      { state: "active", count: 2 },
    ]);
  });

  test("a rescue wakes the lanes of what it took, each once", async ({ database, engine }) => {
    const nodeId = await putNode(database, { alive: false });
    const lanes = [await putLane(database), await putLane(database)];
    for (const lane of lanes) await putJobs(database, lane, { state: "active", nodeId, count: 3 });
    const woken = await rescue(engine);
    expect(woken).toHaveLength(2);
    expect(woken).toEqual(expect.arrayContaining(lanes));
  });

  test("a rescue by several nodes at once takes each job once", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "active", nodeId: await putNode(database, { alive: false }), count: 50 });
    await Promise.all([rescue(engine), rescue(engine), rescue(engine)]);
    expect(await database.query("select distinct state, node_losses, spared, attempt from job where lane_id = $1", [lane.laneId])).toEqual([
      { state: "waiting", node_losses: 1, spared: 1, attempt: 1 },
    ]);
  });

  test("a rescue takes more jobs than one statement does", async ({ database, engine }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "active", nodeId: await putNode(database, { alive: false }), count: 5_001 });
    await rescue(engine);
    expect(await database.query("select distinct state from job where lane_id = $1", [lane.laneId])).toEqual([{ state: "waiting" }]);
  });
});

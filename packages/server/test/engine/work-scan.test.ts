import pg from "pg";
import { describe, expect } from "vitest";
import { FROM_THE_START, findLanesWithWorkAcrossWorkspaces, WORK_MAY_WAIT } from "#jobs";
import { type Db, type Statement, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { WorkScan } from "../../src/engine/work-scan.ts";
import { MAX_LANE_STEPS } from "../../src/jobs/store/find-work.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putCircuit, test } from "../harness/engine.ts";
import { insertJobs } from "../harness/jobs.ts";

interface Lanes {
  readonly count?: number;
  readonly served?: "push" | "none";
  readonly paused?: boolean;
  readonly concurrency?: number;
  readonly hasJob?: boolean;
}

async function putWorkspaces(database: TestDatabase, count: number, plan = "enterprise"): Promise<WorkspaceId[]> {
  const put = await database.query<{ id: WorkspaceId }>(
    `with made as (insert into workspace (id, name, plan) select gen_random_uuid(), 'Test', $2 from generate_series(1, $1) returning id)
     select id from made order by id`,
    [count, plan],
  );
  return put.map(({ id }) => id);
}

const putWorkspace = async (database: TestDatabase, plan?: string): Promise<WorkspaceId> =>
  (await putWorkspaces(database, 1, plan))[0] as WorkspaceId;

/** Adds lanes to each of some workspaces, by default one with a job that nodes can claim. Returns them in the order of their ids. */
async function putLanes(
  database: TestDatabase,
  workspaceIds: WorkspaceId | readonly WorkspaceId[],
  { count = 1, served = "push", paused = false, concurrency, hasJob = true }: Lanes = {},
): Promise<LaneKey[]> {
  const put = await insertJobs<{ id: string; workspace_id: WorkspaceId }>(
    database,
    `with made as (
       insert into lane (workspace_id, kind, name, served, paused, concurrency)
       select w, 'queue', gen_random_uuid(), $2::lane_service, $3, $4 from unnest($1::uuid[]) w, generate_series(1, $5) returning workspace_id, id
     ), filled as (
       insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
       select workspace_id, id, gen_random_uuid(), 'waiting', 0, 3, 1000, moment(), moment(), '{}' from made where $6
     )
     select id, workspace_id from made order by id`,
    [[workspaceIds].flat(), served, paused, concurrency ?? null, count, hasJob],
  );
  return put.map(({ id, workspace_id }) => ({ workspaceId: workspace_id, laneId: Number(id) as LaneId }));
}

/** The buffers of the database that the statement visits. */
async function countBuffers(database: TestDatabase, { text, values }: Statement): Promise<number> {
  const client = new pg.Client({
    connectionString: database.url,
    options: "-c search_path=tidemill -c jit=off -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off",
  });
  await client.connect();
  try {
    await client.query("vacuum analyze job, lane");
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, values);
    const { Plan } = rows[0]["QUERY PLAN"][0];
    return Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
  } finally {
    await client.end();
  }
}

/** The statement of a look. */
async function lookStatement(): Promise<Statement> {
  const asked: Statement[] = [];
  const db: Db = {
    query: async (statement) => {
      asked.push(statement);
      return { rows: [] };
    },
  };
  await findLanesWithWorkAcrossWorkspaces(db);
  return asked[0] as Statement;
}

const pollStatement = () => sql`select (${WORK_MAY_WAIT}) as due`;

/** All lanes that looks find until they have visited everything, by look. */
async function lookEverywhere(db: Db): Promise<LaneKey[][]> {
  const looks: LaneKey[][] = [];
  for (let position = FROM_THE_START; ; ) {
    const { lanes, next } = await findLanesWithWorkAcrossWorkspaces(db, position);
    looks.push(lanes);
    if (next.afterWorkspace === null && next.afterLanes.size === 0) return looks;
    position = next;
  }
}

const inOrder = (lanes: readonly LaneKey[]): LaneKey[] => lanes.toSorted((one, other) => one.laneId - other.laneId);

describe("a scan for work", () => {
  test("a scan for work finds the lanes that nodes serve and that have claimable jobs", async ({ database, engine }) => {
    await database.query("truncate job, lane cascade");
    const [workspace, other, free] = [await putWorkspace(database), await putWorkspace(database), await putWorkspace(database, "free")];
    const expected = [
      ...(await putLanes(database, workspace)),
      ...(await putLanes(database, other, { count: 2 })),
      ...(await putLanes(database, workspace, { concurrency: 1 })),
    ];
    await putLanes(database, workspace, { served: "none" });
    await putLanes(database, workspace, { paused: true });
    await putLanes(database, other, { hasJob: false });
    await putLanes(database, free);
    for (const lane of await putLanes(database, other)) await putCircuit(database, lane, { inSeconds: 1 });
    expect(inOrder((await findLanesWithWorkAcrossWorkspaces(engine)).lanes)).toEqual(inOrder(expected));
  });

  test("a scan for work visits as little while 5,000 lanes with jobs are not served or paused as while there are none", async ({
    database,
  }) => {
    await database.query("truncate job, lane cascade");
    const [workspace, other] = [await putWorkspace(database), await putWorkspace(database)];
    for (const id of [workspace, other]) await putLanes(database, id, { count: 5 });
    const [look, poll] = [await lookStatement(), pollStatement()];
    const before = [await countBuffers(database, look), await countBuffers(database, poll)];
    await putLanes(database, workspace, { count: 2_500, served: "none" });
    await putLanes(database, other, { count: 2_500, paused: true });
    // The indexes have become one level deeper, and a few more look-ups pass over the lanes.
    expect(await countBuffers(database, look)).toBeLessThan((before[0] as number) * 2);
    expect(await countBuffers(database, poll)).toBeLessThan((before[1] as number) * 2);
  });

  test("a scan for work passes over thousands of lanes without jobs beside thousands of jobs that nobody serves", async ({ database }) => {
    await database.query("truncate job, lane cascade");
    const workspace = await putWorkspace(database);
    await putLanes(database, workspace, { count: 2_500, served: "none" });
    await putLanes(database, workspace, { count: 2_500, hasJob: false });
    await putLanes(database, workspace, { count: 2_500, served: "none" });
    expect(await countBuffers(database, await lookStatement())).toBeLessThan(100);
  });

  test("looks go on behind each other until they have found all lanes, each of them once", async ({ database, engine }) => {
    await database.query("truncate job, lane cascade");
    const [workspace, other] = [await putWorkspace(database), await putWorkspace(database)];
    const expected = [
      ...(await putLanes(database, workspace, { count: MAX_LANE_STEPS + 10 })),
      ...(await putLanes(database, other, { count: 20 })),
    ];
    const looks = await lookEverywhere(engine);
    expect(looks.length).toBeGreaterThan(1);
    for (const found of looks) expect(found.length).toBeLessThanOrEqual(MAX_LANE_STEPS);
    // A workspace that is done early is looked at again by the next looks.
    const inTotal = inOrder(looks.flat().filter(({ workspaceId }) => workspaceId === workspace));
    expect(inTotal).toEqual(expected.slice(0, -20));
    expect(inOrder((looks[0] as LaneKey[]).filter(({ workspaceId }) => workspaceId === other))).toEqual(expected.slice(-20));
  });

  test("a scan for work finds the one lane of each of 300 workspaces while one has thousands", async ({ database, engine }) => {
    await database.query("truncate job, lane cascade");
    const large = await putWorkspace(database);
    await putLanes(database, large, { count: 3_000 });
    const small = await putLanes(database, await putWorkspaces(database, 300));
    await database.query("vacuum analyze job, lane");
    const [first = [], second = []] = await lookEverywhere(engine);
    const found = inOrder([...first, ...second].filter(({ workspaceId }) => workspaceId !== large));
    expect(found).toEqual(inOrder(small));
  });

  test("looks that end between a workspace without jobs and the next one with jobs go on with the latter", async ({ database, engine }) => {
    await database.query("truncate job, lane cascade");
    const ids = await putWorkspaces(database, 241);
    // The first workspace shifts the pairs, so that the 200th step ends in the middle of one.
    const expected = await putLanes(
      database,
      ids.filter((_, index) => index % 2 === 0),
    );
    await putLanes(
      database,
      ids.filter((_, index) => index % 2 === 1),
      { hasJob: false },
    );
    expect(inOrder((await lookEverywhere(engine)).flat())).toEqual(inOrder(expected));
  });

  test("the next look comes soon while looks find lanes that the node did not know, otherwise with the poll", async ({
    database,
    engine,
  }) => {
    await database.query("truncate job, lane cascade");
    await putLanes(database, await putWorkspace(database), { count: MAX_LANE_STEPS + 1 });
    const known = new Set<LaneId>();
    const waker = {
      expects: ({ laneId }: LaneKey) => known.has(laneId),
      wake: (lanes: Iterable<LaneKey>) => {
        for (const { laneId } of lanes) known.add(laneId);
      },
      wakeAt: () => {},
    };
    let elapsedMs = 0;
    const look = new WorkScan(engine, { elapsedMs: () => (elapsedMs += 10) }, waker);
    expect(await look.pass()).toBe(40);
    expect(await look.pass()).toBeUndefined();
    expect(known.size).toBe(MAX_LANE_STEPS + 1);
    expect(await look.pass()).toBeUndefined();
  });
});

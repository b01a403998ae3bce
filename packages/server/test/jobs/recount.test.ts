import { beforeEach, expect, onTestFinished } from "vitest";
import { type Database, type Db, sql, type Transactional, unavailable, type WorkspaceId } from "#kernel";
import { JobRecount } from "../../src/jobs/recount.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { hold } from "../harness/locks.ts";

const told: unknown[] = [];
const recountOf = (engine: Database, db: Transactional = engine) =>
  new JobRecount({ db, canceller: engine, emit: (event, fields) => told.push({ event, ...fields }) });

/** Passes until none is left to count. Those that fail are counted. */
async function countAll(recount: JobRecount): Promise<{ passes: number; failed: number }> {
  for (let [passes, failed] = [1, 0]; ; passes += 1) {
    const wait = await recount.passAcrossWorkspaces().catch(() => {
      failed += 1;
      return 0;
    });
    if (wait === undefined) return { passes, failed };
    if (passes > 50) throw new Error("The count does not end.");
  }
}

/** Workspaces whose counts are wrong in one lane each, in the order of their ids. */
async function putWrong(database: TestDatabase, count = 1): Promise<WorkspaceId[]> {
  const ids: WorkspaceId[] = [];
  for (let number = 0; number < count; number += 1) {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting", count: 3 });
    ids.push(lane.workspaceId);
  }
  await database.query("update job set state = 'delayed' where workspace_id = any($1)", [ids]);
  return ids.toSorted();
}

const wrongOf = async (database: TestDatabase): Promise<WorkspaceId[]> =>
  (await database.query<{ id: WorkspaceId }>("select workspace_id as id from count_drift(null) order by 1")).map(({ id }) => id);

beforeEach(async ({ database }: { database: TestDatabase }) => {
  told.length = 0;
  await database.query("delete from job_recount; delete from job; select recount_jobs(null)");
});

test("each pass corrects one workspace, until all are counted", async ({ database, engine }) => {
  const wrong = await putWrong(database, 3);
  const recount = recountOf(engine);
  for (let left = wrong; left.length > 0; left = await wrongOf(database)) {
    told.length = 0;
    while (told.length === 0) expect(await recount.passAcrossWorkspaces()).toBe(0);
    expect(await wrongOf(database)).toEqual(left.slice(1));
    expect(told).toEqual([{ event: "counts_corrected", lanes: 1 }]);
  }
  await countAll(recount);
  expect(await recount.passAcrossWorkspaces()).toBeUndefined();
});

test("a workspace that was counted is counted again after twelve hours, by whatever node", async ({ database, engine, clock }) => {
  const wrong = await putWrong(database);
  await countAll(recountOf(engine));
  await database.query("update job set state = 'waiting' where workspace_id = any($1)", [wrong]);
  expect(await countAll(recountOf(engine))).toEqual({ passes: 1, failed: 0 });
  expect(await wrongOf(database)).toEqual(wrong);
  await clock.advance(12 * 3_600_000);
  await countAll(recountOf(engine));
  expect(await wrongOf(database)).toEqual([]);
});

test("a workspace whose count fails keeps no other from its turn", async ({ database, engine }) => {
  const wrong = await putWrong(database, 3);
  // The difference to the jobs is no number that PostgreSQL has.
  await database.query(
    "insert into job_count (workspace_id, lane_id, live) select workspace_id, id, -9223372036854775808 from lane where workspace_id = $1",
    [wrong[0]],
  );
  onTestFinished(() => database.query("delete from job_count").then(() => {}));
  expect((await countAll(recountOf(engine))).failed).toBe(1);
  await database.query("delete from job_count");
  expect(await wrongOf(database)).toEqual([wrong[0]]);
});

test("a count may take minutes: the driver waits for it as long as the server does", async ({ database, engine }) => {
  await putLane(database);
  const waits: (number | undefined)[] = [];
  const watched: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (work) =>
      engine.transaction((tx) =>
        work({
          query: async (statement) => {
            if (statement.text.includes("recount_jobs")) {
              waits.push(statement.query_timeout);
              expect((await tx.query(sql`show statement_timeout`)).rows).toEqual([{ statement_timeout: "5min" }]);
            }
            return tx.query(statement);
          },
        }),
      ),
  };
  expect(await recountOf(engine, watched).passAcrossWorkspaces()).toBe(0);
  expect(waits).toEqual([305_000]);
});

test("a count does not wait for that of another node, and a later one counts all", async ({ database, engine }) => {
  const wrong = await putWrong(database);
  const recount = recountOf(engine);
  const other = hold(engine, sql`select pg_advisory_xact_lock(7305512014)`);
  await other.held;
  expect(await recount.passAcrossWorkspaces()).toBeUndefined();
  expect(await wrongOf(database)).toEqual(wrong);
  await other.release();
  await countAll(recount);
  expect(await wrongOf(database)).toEqual([]);
});

test("a node that stops cancels its count, and another node counts that workspace", async ({ database, engine }) => {
  await putWrong(database);
  const jobs = hold(engine, sql`lock table job in access exclusive mode`);
  await jobs.held;
  const recount = recountOf(engine);
  const pass = recount.passAcrossWorkspaces();
  await jobs.untilWaiting(1);
  await recount.cancel();
  expect(await pass).toBeUndefined();
  await jobs.release();
  expect(await database.query("select from job_recount")).toEqual([]);
  await countAll(recountOf(engine));
  expect(await wrongOf(database)).toEqual([]);
});

test("a node that stops tries again when its count could not be cancelled", async ({ database, engine }) => {
  await putWrong(database);
  const jobs = hold(engine, sql`lock table job in access exclusive mode`);
  await jobs.held;
  let refusals = 1;
  const query: Db["query"] = (statement) => {
    if (refusals-- > 0) throw unavailable();
    return engine.query(statement);
  };
  const recount = new JobRecount({ db: engine, canceller: { query }, emit: (event) => told.push(event) });
  const pass = recount.passAcrossWorkspaces();
  await jobs.untilWaiting(1);
  await recount.cancel();
  expect(await pass).toBeUndefined();
  expect(told).toEqual(["recount_cancel_failed"]);
  await jobs.release();
});

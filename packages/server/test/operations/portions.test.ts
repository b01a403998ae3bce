import { describe, expect } from "vitest";
import { type Db, type Transactional, typeId, type Uuid } from "#kernel";
import { executeNext } from "../../src/operations/execute.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { putOperation, quiet } from "../harness/operations.ts";

/** A database whose transactions are undone after the first `kept` ones. */
function losing(database: Transactional, kept: number): Transactional {
  let count = 0;
  return {
    query: (statement) => database.query(statement),
    transaction: (work: (tx: Db) => Promise<never>) =>
      database.transaction(async (tx) => {
        const result = await work(tx);
        if (count++ >= kept) throw new Error("The node is lost.");
        return result;
      }),
  };
}

// No node runs here: it would take its turn, too.
describe("the portions of an operation", () => {
  test("another node goes on where one was lost in the middle of a portion, and nothing is done twice", async ({ database, engine }) => {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "failed", count: 700 });
    await putJobs(database, lane, { state: "cancelled", count: 5 });
    // An operation that no node has begun.
    await putOperation(database, lane.workspaceId);
    // Each node is lost at a transaction: its statements are undone. A portion has six of them.
    for (let lost = 0; lost < 12; lost += 1)
      await executeNext({ ...quiet, database: losing(engine, lost % 6) }).catch((error: Error) =>
        expect(error.message).toBe("The node is lost."),
      );
    while (await executeNext({ ...quiet, database: engine }));
    const [operation] = await database.query("select state, done::int, skipped::int from operation where workspace_id = $1", [
      lane.workspaceId,
    ]);
    expect(operation).toEqual({ state: "completed", done: 705, skipped: 0 });
    expect(await database.query("select state, count(*)::int as jobs from job where lane_id = $1 group by state", [lane.laneId])).toEqual([
      { state: "waiting", jobs: 705 },
    ]);
    const [log] = await database.query<{ n: number }>(
      "select count(*)::int as n from audit_event where workspace_id = $1 and event_type = 'operation.completed'",
      [lane.workspaceId],
    );
    expect(log?.n).toBe(1);
  });

  test("a node that finds its portion finished leaves the next portion to the node that picked it", async ({ database, engine }) => {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "failed", count: 700 });
    await putOperation(database, lane.workspaceId);
    // The last transaction of a portion ends it: just before, the other node picks the next portion, and does not change it yet.
    let transactions = 0;
    const late: typeof engine.transaction = async (work) => {
      transactions += 1;
      if (transactions === 6) await expect(executeNext({ ...quiet, database: losing(engine, 1) })).rejects.toThrow("The node is lost.");
      return engine.transaction(work);
    };
    await executeNext({ ...quiet, database: { query: (statement) => engine.query(statement), transaction: late } });
    expect(transactions).toBe(6);
    while (await executeNext({ ...quiet, database: engine }));
    const [operation] = await database.query("select state, done::int, skipped::int from operation where workspace_id = $1", [
      lane.workspaceId,
    ]);
    expect(operation).toEqual({ state: "completed", done: 700, skipped: 0 });
  });

  test("an operation that cannot be executed leaves its turn to the others", async ({ database, engine }) => {
    const lane = await putLane(database, { paused: true });
    await putJobs(database, lane, { state: "failed", count: 3 });
    const stuck = await putOperation(database, lane.workspaceId, "-2 seconds");
    const next = await putOperation(database, lane.workspaceId, "-1 second");
    await expect(executeNext({ ...quiet, database: losing(engine, 0) })).rejects.toThrow("The node is lost.");
    await executeNext({ ...quiet, database: engine });
    const found = await database.query<{ id: Uuid; done: number }>("select id, done::int from operation where workspace_id = $1", [
      lane.workspaceId,
    ]);
    expect(Object.fromEntries(found.map(({ id, done }) => [typeId("op", id), done]))).toEqual({ [stuck]: 0, [next]: 3 });
    await database.query("delete from operation where workspace_id = $1", [lane.workspaceId]);
  });
});

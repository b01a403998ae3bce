import { describe, expect } from "vitest";
import type { InsertRequest, JobToInsert } from "#jobs";
import { type Database, type Db, type JobId, ProblemError, type Transactional, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import { acceptAcrossWorkspaces } from "../../src/jobs/accept.ts";
import type { EnqueueOutcome } from "../../src/jobs/outcome.ts";
import { freeKeysAcrossWorkspaces } from "../../src/jobs/store/idempotency-keys.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { PLAIN_JOB } from "../harness/jobs.ts";
import { backendOf, untilWaitingFor } from "../harness/locks.ts";

let made = 0;
const newJob = (key: string | null, fingerprint = "00".repeat(32)): JobToInsert => ({
  ...PLAIN_JOB,
  id: `01900000-0000-7000-9000-${String(++made).padStart(12, "0")}` as JobId,
  eager: false,
  tick: null,
  idempotency: key === null ? null : { key, fingerprint },
});
const OTHER = "ff".repeat(32);

const request = ({ workspaceId }: LaneKey, ...jobs: JobToInsert[]): InsertRequest => ({ workspaceId, queue: "emails", jobs });
const accept = (engine: Database, limited: boolean, ...requests: InsertRequest[]) =>
  acceptAcrossWorkspaces(engine, null, requests, limited);

/** What became of each request, in a word for each of its jobs. */
const words = (outcomes: EnqueueOutcome[]): unknown[] =>
  outcomes.map((outcome) => {
    if (outcome instanceof ProblemError) return outcome.code;
    if (outcome instanceof Error) throw outcome;
    return outcome?.map((one) => ("original" in one ? one.original.id : "new")) ?? "no queue";
  });

const keysOf = async (database: TestDatabase, { laneId }: LaneKey): Promise<Record<string, string>> => {
  const rows = await database.query<{ key: string; job_id: string }>("select key, job_id from idempotency_key where lane_id = $1", [
    laneId,
  ]);
  return Object.fromEntries(rows.map(({ key, job_id }) => [key, job_id]));
};
const idsOf = async (database: TestDatabase, { laneId }: LaneKey): Promise<string[]> =>
  (await database.query<{ id: string }>("select id from job where lane_id = $1 order by id", [laneId])).map(({ id }) => id);
const limitTo = (database: TestDatabase, { workspaceId }: LaneKey, executions: number) =>
  database.query("update workspace set executions_per_month = $2 where id = $1", [workspaceId, executions]);

describe("requests that are written together", () => {
  test("requests that are written together are decided in their order: the first with a key makes its job", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database, { paused: true });
    const [one, two, three] = [newJob("k"), newJob("k"), newJob("k", OTHER)];
    expect(words(await accept(engine, false, request(lane, one), request(lane, two), request(lane, three)))).toEqual([
      ["new"],
      [one.id],
      "IDEMPOTENCY_MISMATCH",
    ]);
    expect([await idsOf(database, lane), await keysOf(database, lane)]).toEqual([[one.id], { k: one.id }]);
  });

  test("requests that are written together leave their keys to those after them when they are refused: for another body", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database, { paused: true });
    await accept(engine, false, request(lane, newJob("known")));
    const [refused, taken] = [newJob("k", OTHER), newJob("k")];
    const outcomes = await accept(engine, false, request(lane, refused, newJob("free"), newJob("known", OTHER)), request(lane, taken));
    expect(words(outcomes)).toEqual(["IDEMPOTENCY_MISMATCH", ["new"]]);
    expect(await keysOf(database, lane)).toEqual({ known: expect.anything(), k: taken.id });
    // The body that is remembered is the one that was stored.
    expect(words(await accept(engine, false, request(lane, newJob("k")), request(lane, newJob("k", OTHER))))).toEqual([
      [taken.id],
      "IDEMPOTENCY_MISMATCH",
    ]);
  });

  test("requests that are written together leave their keys to those after them when they are refused: for the quota", async ({
    database,
    engine,
  }) => {
    const lane = await putLane(database, { paused: true });
    await limitTo(database, lane, 1);
    const small = newJob("k");
    expect(words(await accept(engine, true, request(lane, newJob("k"), newJob("free")), request(lane, small)))).toEqual([
      "QUOTA_EXCEEDED",
      ["new"],
    ]);
    expect([await idsOf(database, lane), await keysOf(database, lane)]).toEqual([[small.id], { k: small.id }]);
  });

  test("requests of other queues and workspaces that are written together do not meet", async ({ database, engine }) => {
    const [one, two] = [await putLane(database, { paused: true }), await putLane(database, { paused: true })];
    const absent = { ...request(one, newJob("k")), queue: "absent" };
    expect(words(await accept(engine, false, absent, request(one, newJob("k")), request(two, newJob("k", OTHER))))).toEqual([
      "no queue",
      ["new"],
      ["new"],
    ]);
  });
});

test("a batch that repeats the key of another one in its call, and cannot be written, leaves that one stored", async ({
  database,
  engine,
}) => {
  const lane = await putLane(database, { paused: true });
  const batch = { key: "b", fingerprint: "00".repeat(32) };
  const [first, other, repeated] = [newJob(null), newJob(null), newJob(null)];
  let transactions = 0;
  const failing: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (run) => (++transactions === 1 ? engine.transaction(run) : Promise.reject(unavailable("The database is away."))),
  };
  const requests = [{ ...request(lane, first), batch }, { ...request(lane, repeated), batch }, request(lane, other)];
  const outcomes = await acceptAcrossWorkspaces(failing, null, requests, false);
  expect(outcomes).toMatchObject([[{ state: "waiting" }], { code: "UNAVAILABLE" }, [{ state: "waiting" }]]);
  expect(await idsOf(database, lane)).toEqual([first.id, other.id]);
});

/** Begins writes while another transaction holds a key, and waits until all of them wait for it. That transaction is rolled back. */
async function whileHeld<Write>(engine: Database, lane: LaneKey, key: string, begin: () => Promise<Write>[]): Promise<Write[]> {
  let writes: Promise<Write>[] = [];
  const undone = engine.transaction(async (tx) => {
    const within = { query: tx.query, transaction: <Result>(run: (tx: Db) => Promise<Result>) => run(tx) };
    await acceptAcrossWorkspaces(within, null, [request(lane, newJob(key))], false);
    writes = begin();
    await untilWaitingFor(engine, await backendOf(tx), writes.length);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  return Promise.all(writes);
}

test("a caller that waits for a key whose write is undone takes it", async ({ database, engine }) => {
  const lane = await putLane(database, { paused: true });
  const mine = newJob("k");
  const writes = await whileHeld(engine, lane, "k", () => [accept(engine, false, request(lane, mine))]);
  expect(writes.map(words)).toEqual([[["new"]]]);
  expect([await idsOf(database, lane), await keysOf(database, lane)]).toEqual([[mine.id], { k: mine.id }]);
});

test("writes that have the same keys in opposite orders do not wait in a circle", async ({ database, engine }) => {
  const lane = await putLane(database, { paused: true });
  const [there, back] = [["a", "m", "z"].map((key) => newJob(key)), ["z", "m", "a"].map((key) => newJob(key))];
  // In the order in which they were sent, one request would lock a and the other z: a deadlock.
  const writes = await whileHeld(engine, lane, "m", () => [there, back].map((jobs) => accept(engine, false, request(lane, ...jobs))));
  const outcomes = writes.flatMap(words);
  expect(outcomes.filter((outcome) => String(outcome) === "new,new,new")).toHaveLength(1);
  const known = await keysOf(database, lane);
  expect([Object.keys(known).sort(), Object.values(known).sort()]).toEqual([["a", "m", "z"], await idsOf(database, lane)]);
});

test("a key is not freed while its job is there, whoever thinks it is gone", async ({ database, engine }) => {
  const lane = await putLane(database, { paused: true });
  const job = newJob("k");
  await accept(engine, false, request(lane, job));
  await freeKeysAcrossWorkspaces(engine, [{ ...lane, key: "k" }]);
  expect(await keysOf(database, lane)).toEqual({ k: job.id });
  await database.query("delete from job where id = $1", [job.id]);
  await freeKeysAcrossWorkspaces(engine, [{ ...lane, key: "k" }]);
  expect(await keysOf(database, lane)).toEqual({});
});

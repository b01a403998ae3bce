import { afterEach, describe, expect } from "vitest";
import { type Database, rows, sql, type WorkspaceId } from "#kernel";
import { clearExpiredRows, maintainPartitions } from "#retention";
import { record, recordMany, tamper, verified } from "../harness/audit.ts";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { until } from "../harness/service.ts";

const keep = (engine: Database) => maintainPartitions(engine, () => {});
const clear = (engine: Database) => clearExpiredRows(engine, () => {}, "audit_event");
const keepDays = (database: TestDatabase, workspaceId: WorkspaceId, days: number | null) =>
  database.query("update workspace set retention_days = $2 where id = $1", [workspaceId, days]);

/** What is left of a workspace's log, and in which partitions. */
const seqsOf = async (database: TestDatabase, workspaceId: WorkspaceId): Promise<Record<string, number[]>> => {
  const found = await database.query<{ name: string; seqs: number[] }>(
    "select tableoid::regclass::text as name, array_agg(seq::int order by seq) as seqs from audit_event where workspace_id = $1 group by 1",
    [workspaceId],
  );
  return Object.fromEntries(found.map(({ name, seqs }) => [name.replace("audit_event_", ""), seqs]));
};

const droppedOf = (database: TestDatabase, workspaceId: WorkspaceId) =>
  database.query("select from_seq::int as from, to_seq::int as to from audit_dropped where workspace_id = $1 order by 1", [workspaceId]);

// Partitions are created for the longest retention of a workspace.
afterEach(async ({ database }: { database: TestDatabase }) => {
  await database.query("update workspace set deleted_at = moment()");
});

describe("audit events stand in the partition of the month in which they expire", () => {
  test("an audit event moves to the partition of its month unchanged when that is made after it; what never expires stays", async ({
    database,
    engine,
    clock,
  }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    await keep(engine);
    const { workspaceId } = await putLane(database, { retentionDays: 30 });
    await recordMany(engine, workspaceId, 2);
    await keepDays(database, workspaceId, 500);
    await recordMany(engine, workspaceId, 2);
    await keepDays(database, workspaceId, null);
    await record(engine, workspaceId);
    expect(await seqsOf(database, workspaceId)).toEqual({ "2026_12": [1, 2], later: [3, 4], forever: [5] });
    const before = await database.query("select * from audit_event where workspace_id = $1 order by seq", [workspaceId]);
    await clock.set(Date.UTC(2027, 1, 1));
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 5, broken: null });
    await keep(engine);
    expect(await seqsOf(database, workspaceId)).toEqual({ "2028_04": [3, 4], forever: [5] });
    expect(await database.query("select * from audit_event where workspace_id = $1 order by seq", [workspaceId])).toEqual(before.slice(2));
    await keepDays(database, workspaceId, 3_650);
    await record(engine, workspaceId);
    await expect(database.query("delete from audit_event_later")).rejects.toThrow("append-only");
    await expect(database.query("delete from audit_event_2028_04")).rejects.toThrow("append-only");
  });
});

describe("a chain holds though retention drops parts of it", () => {
  test("a chain holds though retention drops its beginning, month by month, until nothing is left, and goes on then", async ({
    database,
    engine,
    clock,
  }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    const { workspaceId } = await putLane(database, { retentionDays: 30 });
    for (const month of [10, 11, 12]) {
      await clock.set(Date.UTC(2026, month, 15));
      await keep(engine);
      await recordMany(engine, workspaceId, 3);
    }
    await clock.set(Date.UTC(2027, 0, 31, 23, 59, 59));
    await keep(engine);
    expect(await seqsOf(database, workspaceId)).toEqual({ "2027_01": [4, 5, 6], "2027_02": [7, 8, 9] });
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 6, head: { seq: 9 }, broken: null });
    await clock.set(Date.UTC(2027, 2, 1));
    await keep(engine);
    expect(await seqsOf(database, workspaceId)).toEqual({});
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 0, head: { seq: 9 }, broken: null });
    await record(engine, workspaceId);
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 1, head: { seq: 10 }, broken: null });
  });

  test("a chain holds though retention drops parts of it out of order, after changes of the plan", async ({ database, engine, clock }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    await keep(engine);
    const { workspaceId } = await putLane(database);
    for (const days of [90, 7, 7, 365, 7, null, 30, 30]) {
      await keepDays(database, workspaceId, days);
      await record(engine, workspaceId);
    }
    const left: unknown[] = [];
    for (const [year, month] of [
      [2026, 11],
      [2027, 0],
      [2027, 2],
      [2028, 0],
    ] as const) {
      await clock.set(Date.UTC(year, month, 1));
      await keep(engine);
      expect((await verified(engine, workspaceId)).broken).toBeNull();
      left.push(Object.values(await seqsOf(database, workspaceId)).flat());
    }
    expect(left).toEqual([[7, 8, 1, 4, 6], [1, 4, 6], [4, 6], [6]]);
    expect(await droppedOf(database, workspaceId)).toEqual([
      { from: 1, to: 1 },
      { from: 2, to: 3 },
      { from: 4, to: 4 },
      { from: 5, to: 5 },
      { from: 7, to: 8 },
    ]);
  });

  test("a chain holds though retention drops what stood in no month's partition because nobody looked for years", async ({
    database,
    engine,
    clock,
  }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    const { workspaceId } = await putLane(database, { retentionDays: 900 });
    await recordMany(engine, workspaceId, 3);
    await keepDays(database, workspaceId, null);
    await record(engine, workspaceId);
    await clock.set(Date.UTC(2031, 0, 1));
    await keep(engine);
    await clear(engine);
    expect(await seqsOf(database, workspaceId)).toEqual({ forever: [4] });
    expect(await droppedOf(database, workspaceId)).toEqual([{ from: 1, to: 3 }]);
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 1, head: { seq: 4 }, broken: null });
    await keepDays(database, workspaceId, 900);
    await record(engine, workspaceId);
    await expect(database.query("update audit_event_later set output = null")).rejects.toThrow("append-only");
  });

  test("a chain holds though retention drops what stood in no month's partition in several portions", async ({
    database,
    engine,
    clock,
  }) => {
    await clock.set(Date.UTC(2031, 0, 1));
    const { workspaceId } = await putLane(database, { retentionDays: 900 });
    await recordMany(engine, workspaceId, 2);
    await clock.set(Date.UTC(2031, 0, 2));
    await recordMany(engine, workspaceId, 3);
    // Of a portion of 10,000 rows, others that expire before them leave two.
    await database.query(
      `insert into audit_event (workspace_id, seq, id, event_type, occurred_at, actor_id, resource_type, previous, previous_expires_at, hash, expires_at)
       select $1, n, gen_random_uuid(), 'dlq.purged', moment(), 'system', 'job', '', '-infinity', '', '2033-01-01' from generate_series(1, 9998) n`,
      [(await putLane(database)).workspaceId],
    );
    await clock.set(Date.UTC(2035, 0, 1));
    expect(await clear(engine)).toBe(0);
    expect(await seqsOf(database, workspaceId)).toEqual({ later: [3, 4, 5] });
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 3, broken: null });
    expect(await clear(engine)).toBeUndefined();
    expect(await seqsOf(database, workspaceId)).toEqual({});
    expect(await droppedOf(database, workspaceId)).toEqual([
      { from: 1, to: 2 },
      { from: 3, to: 5 },
    ]);
    expect(await verified(engine, workspaceId)).toMatchObject({ events: 0, head: { seq: 5 }, broken: null });
  });

  test.for([
    ["altered", "update audit_event set actor_id = 'nobody' where", 4],
    ["missing", "delete from audit_event where", 4],
  ] as const)(
    "an event that was %s is still found beside what retention dropped",
    async ([problem, statement, seq], { database, engine, clock }) => {
      await clock.set(Date.UTC(2026, 10, 21, 12));
      await keep(engine);
      const { workspaceId } = await putLane(database, { retentionDays: 7 });
      await recordMany(engine, workspaceId, 3);
      await keepDays(database, workspaceId, 365);
      await recordMany(engine, workspaceId, 3);
      await clock.set(Date.UTC(2026, 11, 15));
      await keep(engine);
      expect(await verified(engine, workspaceId)).toMatchObject({ events: 3, broken: null });
      await tamper(database, `${statement} workspace_id = '${workspaceId}' and seq = ${seq}`);
      expect((await verified(engine, workspaceId)).broken).toMatchObject({ seq, problem });
    },
  );

  test("a month that somebody else dropped is missed", async ({ database, engine, clock }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    await keep(engine);
    const { workspaceId } = await putLane(database, { retentionDays: 7 });
    await recordMany(engine, workspaceId, 2);
    await database.query("drop table audit_event_2026_11");
    expect((await verified(engine, workspaceId)).broken).toEqual({ seq: 1, id: null, problem: "missing" });
  });
});

test("a verification that meets a drop half done waits for it, and sees all or nothing of it", async ({ database, engine, clock }) => {
  await clock.set(Date.UTC(2026, 10, 21, 12));
  await keep(engine);
  const { workspaceId } = await putLane(database, { retentionDays: 7 });
  await recordMany(engine, workspaceId, 3);
  await clock.set(Date.UTC(2026, 11, 1));
  const waiting = async () =>
    (
      await database.query(
        "select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())",
      )
    ).length > 0;
  let verifying: ReturnType<typeof verified> | undefined;
  await engine.transaction(async (tx) => {
    await rows(tx, sql`select drop_partitions('audit_event', '2026-12-01')`);
    verifying = verified(engine, workspaceId);
    await until(waiting, "the verification to wait");
  });
  expect(await verifying).toMatchObject({ events: 0, head: { seq: 3 }, broken: null });
});

test("a month that is not over is not dropped", async ({ database, engine, clock }) => {
  await clock.set(Date.UTC(2026, 10, 21, 12));
  await keep(engine);
  const { workspaceId } = await putLane(database, { retentionDays: 7 });
  await recordMany(engine, workspaceId, 2);
  for (const parent of ["audit_event", "job_history"]) {
    await expect(database.query("select drop_partitions($1, '2026-12-01')", [parent])).rejects.toThrow("have not all expired");
  }
  expect(await verified(engine, workspaceId)).toMatchObject({ events: 2, broken: null });
});

test("several nodes that look at once drop a month once, and tell of it once", async ({ database, engine, clock }) => {
  await clock.set(Date.UTC(2026, 10, 21, 12));
  await keep(engine);
  const { workspaceId } = await putLane(database, { retentionDays: 7 });
  await recordMany(engine, workspaceId, 5);
  await clock.set(Date.UTC(2026, 11, 1));
  const told: unknown[] = [];
  await Promise.all([1, 2, 3].map(() => maintainPartitions(engine, (event, fields) => told.push([event, ...Object.values(fields)]))));
  expect(told.sort()).toEqual([
    ["history_dropped", ["audit_event_2026_11"]],
    ["history_dropped", ["job_history_2026_11"]],
  ]);
  expect(await droppedOf(database, workspaceId)).toEqual([{ from: 1, to: 5 }]);
  expect((await verified(engine, workspaceId)).broken).toBeNull();
});

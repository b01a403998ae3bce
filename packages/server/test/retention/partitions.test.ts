import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, onTestFinished } from "vitest";
import { type JobId, rows, sql, type Transactional, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import { clearExpiredRows, maintainPartitions } from "#retention";
import type { TestDatabase } from "../harness/database.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { hold, isWaiting } from "../harness/locks.ts";
import { until } from "../harness/service.ts";

const partitionsOf = async (database: TestDatabase): Promise<string[]> =>
  (
    await database.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'job_history'::regclass order by 1",
    )
  ).map(({ name }) => name);

const monthly = (names: string[]) => names.filter((name) => name !== "job_history_later" && name !== "job_history_forever");
const partitionOf = async (database: TestDatabase, id: JobId) =>
  (await database.query<{ name: string }>("select tableoid::regclass::text as name from job_history where id = $1", [id])).map(
    ({ name }) => name,
  );

const told: unknown[] = [];
const keep = (engine: Parameters<typeof maintainPartitions>[0]) =>
  maintainPartitions(engine, (event, fields) => told.push({ event, ...fields }));

const clear = (engine: Transactional) => clearExpiredRows(engine, (event, fields) => told.push({ event, ...fields }), "job_history");

beforeEach(() => {
  told.length = 0;
});

describe("partitions of history", () => {
  test("monthly partitions stand ready for more than the year that the longest plan keeps", async ({ database, clock, engine }) => {
    await clock.set(Date.UTC(2026, 10, 21, 12));
    await keep(engine);
    const names = monthly(await partitionsOf(database));
    expect(names[0]).toBe("job_history_2026_11");
    expect(names.at(-1)).toBe("job_history_2028_01");
    expect(names).toHaveLength(15);
    expect(told).toEqual([]);
  });

  test("a second look for partitions, or two at once, change nothing", async ({ database, engine }) => {
    const before = await partitionsOf(database);
    await Promise.all([keep(engine), keep(engine), keep(engine)]);
    expect(await partitionsOf(database)).toEqual(before);
  });

  test.for([
    ["2026-12-01T00:00:00Z", "job_history_2026_12"],
    ["2026-12-31T23:59:59.999999Z", "job_history_2026_12"],
    ["2027-01-01T00:00:00Z", "job_history_2027_01"],
    ["2028-01-31T23:59:59Z", "job_history_2028_01"],
    ["2028-02-01T00:00:00Z", "job_history_later"],
    ["infinity", "job_history_forever"],
  ] as const)("a job that expires at %s stands in %s", async ([expires, partition], { database }) => {
    const [id] = await putJobs(database, await putLane(database), { state: "completed", expiresAt: `'${expires}'` });
    expect(id && (await partitionOf(database, id))).toEqual([partition]);
  });

  test("a job that expires beyond the months made moves into its month when that is made; one that never expires stays", async ({
    database,
    clock,
    engine,
  }) => {
    const lane = await putLane(database);
    const [far] = await putJobs(database, lane, { state: "completed", expiresAt: "'2028-02-29T12:00:00Z'" });
    const [farther] = await putJobs(database, lane, { state: "cancelled", expiresAt: "'2028-03-01T00:00:00Z'" });
    const [never] = await putJobs(database, lane, { state: "rejected", expiresAt: "'infinity'" });
    if (!far || !farther || !never) throw new Error("No job was put.");
    const before = await database.query("select * from job_history where lane_id = $1 order by id", [lane.laneId]);
    await clock.set(Date.UTC(2026, 11, 1));
    await keep(engine);
    expect(await partitionOf(database, far)).toEqual(["job_history_2028_02"]);
    expect(await partitionOf(database, farther)).toEqual(["job_history_later"]);
    expect(await partitionOf(database, never)).toEqual(["job_history_forever"]);
    expect(await database.query("select * from job_history where lane_id = $1 order by id", [lane.laneId])).toEqual(before);
  });
});

test("a job that ends while its month is being made waits for the partition, and stands in it", async ({ database, engine }) => {
  const lane = await putLane(database);
  await database.query("drop table job_history_2026_12");
  let put: Promise<JobId[]> | undefined;
  await engine.transaction(async (tx) => {
    await rows(tx, sql`select make_partition('job_history', '2026-12-01')`);
    put = putJobs(database, lane, { state: "completed", expiresAt: "'2026-12-15T00:00:00Z'" });
    await until(() => isWaiting(database, "job_history"), "the job to wait");
  });
  const [id] = (await put) ?? [];
  if (!id) throw new Error("No job was put.");
  expect(await partitionOf(database, id)).toEqual(["job_history_2026_12"]);
});

describe("a month of history", () => {
  test("a month of history stays until its last job has expired", async ({ database, clock, engine }) => {
    await clock.set(Date.UTC(2026, 11, 31, 23, 59, 59));
    await keep(engine);
    expect(await partitionsOf(database)).toContain("job_history_2026_12");
  });

  test("a month of history is dropped once it is past, with its jobs and no others, and that is told", async ({
    database,
    clock,
    engine,
  }) => {
    const lane = await putLane(database);
    const [past] = await putJobs(database, lane, { state: "completed", expiresAt: "'2026-12-31T23:59:59.999Z'" });
    const [kept] = await putJobs(database, lane, { state: "completed", expiresAt: "'2027-01-01T00:00:00Z'" });
    told.length = 0;
    await clock.set(Date.UTC(2027, 0, 1));
    await keep(engine);
    expect(monthly(await partitionsOf(database))[0]).toBe("job_history_2027_01");
    expect(told).toEqual([
      { event: "history_dropped", partitions: ["job_history_2026_12"] },
      { event: "history_dropped", partitions: ["audit_event_2026_12"] },
    ]);
    expect(past && (await partitionOf(database, past))).toEqual([]);
    expect(kept && (await partitionOf(database, kept))).toEqual(["job_history_2027_01"]);
  });

  test("a month of history is dropped with all that are past, when nobody looked for long", async ({ database, clock, engine }) => {
    await clock.set(Date.UTC(2027, 5, 15));
    await keep(engine);
    const names = monthly(await partitionsOf(database));
    expect([names[0], names.at(-1), names.length]).toEqual(["job_history_2027_06", "job_history_2028_08", 15]);
  });
});

test("a month whose partition cannot be created is reported, and keeps no other month or table from its turn", async ({
  database,
  clock,
  engine,
}) => {
  await clock.set(Date.UTC(2027, 5, 15));
  await keep(engine);
  // A partition is also a type, whose name is taken.
  await database.query("create domain job_history_2028_09 as integer");
  await clock.set(Date.UTC(2027, 7, 15));
  told.length = 0;
  expect(await keep(engine)).toBeUndefined();
  const names = monthly(await partitionsOf(database));
  expect([names[0], ...names.slice(-3)]).toEqual([
    "job_history_2027_08",
    "job_history_2028_07",
    "job_history_2028_08",
    "job_history_2028_10",
  ]);
  expect(await database.query("select to_regclass('audit_event_2028_10') is not null as made")).toEqual([{ made: true }]);
  expect(told).toContainEqual({ event: "partition_failed", table: "job_history", error: expect.objectContaining({ code: "42710" }) });
  await database.query("drop domain job_history_2028_09");
  expect(await keep(engine)).toBe(60_000);
  expect(monthly(await partitionsOf(database))).toContain("job_history_2028_09");
});

test("nothing of history is kept for ever where nobody looked for years", async ({ database, clock, engine }) => {
  const lane = await putLane(database);
  const [id] = await putJobs(database, lane, { state: "completed", expiresAt: "'2029-06-15T00:00:00Z'" });
  await clock.set(Date.UTC(2031, 0, 1));
  await keep(engine);
  await clear(engine);
  expect(id && (await partitionOf(database, id))).toEqual([]);
});

test("expired rows that are in no month's partition are deleted, a portion in each pass", async ({ database, clock, engine }) => {
  await clock.set(Date.UTC(2031, 0, 1));
  await keep(engine);
  const lane = await putLane(database);
  await putJobs(database, lane, {
    state: "completed",
    expiresAt: "timestamptz '2033-06-15' + generate_series * interval '1 second'",
    count: 25_000,
  });
  await clock.set(Date.UTC(2035, 0, 1));
  const left = async () =>
    Number((await database.query<{ n: string }>("select count(*) as n from job_history where lane_id = $1", [lane.laneId]))[0]?.n);
  expect(await clear(engine)).toBe(0);
  expect(await left()).toBe(15_000);
  expect(await clear(engine)).toBe(0);
  expect(await clear(engine)).toBeUndefined();
  expect(await left()).toBe(0);
});

test("a month whose rows cannot be moved in half of the time of a statement is left to the next pass: what waits for it does not fail", async ({
  database,
  clock,
  engine,
}) => {
  await clock.set(Date.UTC(2040, 0, 1));
  await keep(engine);
  await clock.set(Date.UTC(2040, 1, 1));
  const timeouts: unknown[] = [];
  const slow: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (work) =>
      engine.transaction((tx) =>
        work({
          query: async (statement) => {
            if (!statement.text.includes("make_partition") || !statement.values.includes("job_history")) return tx.query(statement);
            timeouts.push(...(await tx.query(sql`show statement_timeout`)).rows);
            await tx.query(sql`set local statement_timeout = '50ms'`);
            return tx.query(sql`select pg_sleep(1)`);
          },
        }),
      ),
  };
  told.length = 0;
  expect(await keep(slow)).toBeUndefined();
  expect(timeouts).toEqual([{ statement_timeout: "5s" }]);
  expect(told).toContainEqual({ event: "partition_failed", table: "job_history", error: expect.objectContaining({ code: "UNAVAILABLE" }) });
  expect(await partitionsOf(database)).not.toContain("job_history_2041_04");
  expect(await database.query("select to_regclass('audit_event_2041_04') is not null as made")).toEqual([{ made: true }]);
});

test("months of one table that take too long keep no month of the other from being created, and the next pass begins with others", async ({
  database,
  clock,
  engine,
}) => {
  await clock.set(Date.UTC(2045, 0, 1));
  await keep(engine);
  await clock.set(Date.UTC(2045, 3, 1));
  const tried: unknown[] = [];
  const slow: Transactional = {
    query: (statement) => engine.query(statement),
    transaction: (work) =>
      engine.transaction((tx) =>
        work({
          query: async (statement) => {
            if (!statement.text.includes("make_partition") || !statement.values.includes("job_history")) return tx.query(statement);
            tried.push(String(statement.values[1]).slice(0, 7));
            throw Object.assign(unavailable(), { cause: { code: "57014" } });
          },
        }),
      ),
  };
  const slowMonths = new Set<string>();
  await maintainPartitions(slow, () => {}, slowMonths);
  expect(tried.splice(0)).toEqual(["2046-04", "2046-05"]);
  expect(await database.query("select to_regclass('audit_event_2046_06') is not null as made")).toEqual([{ made: true }]);
  await maintainPartitions(slow, () => {}, slowMonths);
  expect(tried).toEqual(["2046-06", "2046-04"]);
  await maintainPartitions(engine, () => {}, slowMonths);
  expect(slowMonths).toEqual(new Set());
});

/** Puts a workspace that keeps its history for so long until the test has ended. */
async function putKeeper(database: TestDatabase, retentionDays: number): Promise<LaneKey> {
  const lane = await putLane(database, { retentionDays });
  onTestFinished(() => database.query("update workspace set deleted_at = moment() where id = $1", [lane.workspaceId]).then(() => {}));
  return lane;
}

describe("a long retention", () => {
  test("a workspace that keeps history for two years has partitions for it before its rows come, after a minute", async ({
    database,
    clock,
    engine,
  }) => {
    await clock.set(Date.UTC(2050, 0, 15));
    expect(await keep(engine)).toBe(60_000);
    expect(monthly(await partitionsOf(database)).at(-1)).toBe("job_history_2051_03");
    const lane = await putKeeper(database, 730);
    expect(await keep(engine)).toBe(60_000);
    expect(monthly(await partitionsOf(database)).at(-1)).toBe("job_history_2052_03");
    const [id] = await putJobs(database, lane, { state: "completed", expiresAt: "moment() + interval '730 days'" });
    expect(id && (await partitionOf(database, id))).toEqual(["job_history_2052_01"]);
  });

  test("a workspace that keeps history for a hundred years has partitions for three of them", async ({ database, clock, engine }) => {
    await clock.set(Date.UTC(2060, 0, 15));
    await putKeeper(database, 36_500);
    await keep(engine);
    expect(monthly(await partitionsOf(database)).at(-1)).toBe("job_history_2063_03");
  });

  test.for([
    ["rows", 10_001, "{}"],
    ["bytes", 500, JSON.stringify(randomBytes(75_000).toString("hex"))],
  ] as const)(
    "a month with too many %s in the default partition to move them soon stays there, and nobody waits for a lock",
    async ([what, count, payload], { database, clock, engine }) => {
      const year = what === "rows" ? 2070 : 2080;
      await clock.set(Date.UTC(year, 0, 15));
      await keep(engine);
      const lane = await putLane(database);
      const [id] = await putJobs(database, lane, { state: "completed", expiresAt: `'${year + 1}-04-15'`, count });
      await database.query("update job_history set payload = $2 where lane_id = $1", [lane.laneId, payload]);
      // One month more.
      await putKeeper(database, 390);
      const reader = hold(engine, sql`lock table job_history in access share mode`);
      await reader.held;
      told.length = 0;
      expect(await keep(engine)).toBeUndefined();
      const skipped = { event: "partition_skipped", table: "job_history", months: [`${year + 1}-04`] };
      expect(told.filter((one) => (one as typeof skipped).table === "job_history")).toEqual([skipped]);
      expect(await partitionsOf(database)).not.toContain(`job_history_${year + 1}_04`);
      expect(id && (await partitionOf(database, id))).toEqual(["job_history_later"]);
      await reader.release();
    },
  );
});

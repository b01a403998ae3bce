import { expect, onTestFinished } from "vitest";
import { Database, PoolGroup, row, rows, sql } from "#kernel";
import { createPool, executeOn } from "../../src/kernel/database/pool.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";

/** The URL of the database for a role of its own, which may have `limit` connections. */
async function urlOfRole(database: TestDatabase, limit: number): Promise<string> {
  const role = `few_${database.name}_${limit}`;
  await database.query(`create role ${role} login connection limit ${limit}`);
  return database.url.replace(/\/\/[^@]*@/, `//${role}@`);
}

const pool = (connectionString: string, size: number, group: PoolGroup, needs = 1): Database => {
  const made = new Database({ connection: { connectionString }, size, statementTimeoutMs: 10_000, group, needs });
  onTestFinished(() => made.close());
  return made;
};

const pidOf = async (db: Database): Promise<number | undefined> =>
  (await row<{ pid: number }>(db, sql`select pg_backend_pid() as pid`))?.pid;

test("a pool without a connection gets one from another pool that has several, and both go on", async ({ database }) => {
  const refusals: unknown[] = [];
  const group = new PoolGroup((event, fields) => refusals.push([event, fields]));
  const url = await urlOfRole(database, 2);
  const [rich, poor] = [pool(url, 4, group, 4), pool(url, 2, group)];
  await rich.open();
  expect(await pidOf(poor)).toBeTypeOf("number");
  // The other one keeps its last connection.
  expect(await Promise.all([pidOf(rich), pidOf(rich), pidOf(poor), pidOf(poor)])).toEqual(Array(4).fill(expect.any(Number)));
  expect(refusals).toEqual([
    ["database_connections_refused", { open: expect.any(Number), wanted: 6, count: 1, error: expect.objectContaining({ code: "53300" }) }],
  ]);
});

test("a pool that needs more gets them from one that has more than it needs, also while all are in use", async ({ database }) => {
  const group = new PoolGroup();
  const url = await urlOfRole(database, 3);
  const [requests, engine] = [pool(url, 3, group), pool(url, 2, group, 2)];
  await requests.open();
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  let begun = 0;
  const busy = Array.from({ length: 3 }, () =>
    requests.transaction(async (tx) => {
      await rows(tx, sql`select 1`);
      begun += 1;
      if (begun === 3) finish();
      await done;
    }),
  );
  const [first, second] = await Promise.all([
    engine.transaction(async (tx) => rows(tx, sql`select pg_backend_pid() as pid`)),
    engine.transaction(async (tx) => rows(tx, sql`select pg_backend_pid() as pid`)),
  ]);
  await Promise.all(busy);
  expect([first, second]).toEqual([[{ pid: expect.any(Number) }], [{ pid: expect.any(Number) }]]);
});

test("a pool that is alone and is refused all connections fails at once", async ({ database }) => {
  const db = pool(await urlOfRole(database, 0), 2, new PoolGroup());
  await expect(pidOf(db)).rejects.toMatchObject({ code: "UNAVAILABLE", cause: { code: "53300" } });
});

test("a statement that gets no connection in time says that all are in use", async ({ database }) => {
  const connection = { connectionString: database.url };
  const one = createPool({ connection, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
  onTestFinished(() => one.end());
  const client = await one.connect();
  one.options.connectionTimeoutMillis = 1;
  await expect(executeOn(one, sql`select 1`)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    cause: {
      message:
        "No database connection was free for 0.001 s. The only one of its kind is in use, for example by statements that wait for locks.",
    },
  });
  client.release();
});

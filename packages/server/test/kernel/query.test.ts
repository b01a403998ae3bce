import type pg from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { rows, sql, Tenants, type WorkspaceId } from "#kernel";
import { createPool, executeOn, inTransaction, onConnection } from "../../src/kernel/database/pool.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";

const WORKSPACE = "01900000-0000-7000-9000-000000000001" as WorkspaceId;

describe("a statement that is executed again on its connection", () => {
  test("returns what it did the first time, with every kind of column", async ({ engine }) => {
    const found = {
      text: "é",
      nothing: null,
      number: 7,
      long: 9_007_199_254,
      yes: true,
      at: "2026-01-02T03:04:05.600Z",
      list: ["a", "b"],
      json: { a: [1] },
    };
    await engine.transaction(async (tx) => {
      for (const number of [7, 8, 9]) {
        const read = sql`
          select 'é'::text as text, null::text as nothing, ${number}::int as number, 9007199254::bigint as long, true as yes,
            '2026-01-02 03:04:05.6Z'::timestamptz as at, array['a', 'b'] as list, '{"a":[1]}'::json as json from generate_series(1, 2)`;
        expect(await rows(tx, read)).toEqual(Array(2).fill({ ...found, number }));
      }
    });
  });

  test("returns no rows if it is one that has none", async ({ engine }) => {
    await engine.transaction(async (tx) => {
      await tx.query(sql`create temporary table numbers (n int) on commit drop`);
      for (const n of [1, 2, 3]) expect(await rows(tx, sql`insert into numbers values (${n})`)).toEqual([]);
      expect(await rows(tx, sql`select n from numbers order by n`)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    });
  });

  test("fails each time that its values fail, and succeeds in between", async ({ engine }) => {
    const divide = (by: number) => rows(engine, sql`select 6 / ${by}::int as result`);
    for (let round = 0; round < 3; round += 1) {
      await expect(divide(0)).rejects.toThrow("division by zero");
      expect(await divide(2)).toEqual([{ result: 3 }]);
    }
  });

  describe("fails once as unavailable, and then succeeds on another connection, if", () => {
    const read = sql`select * from changing`;
    const poolOf = (database: TestDatabase) => {
      const pool = createPool({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
      onTestFinished(() => pool.end());
      return pool;
    };

    test.for<[string, (pool: pg.Pool, tenants: Tenants) => Promise<unknown>]>([
      ["alone", (pool) => executeOn(pool, read)],
      ["in a transaction", (pool) => onConnection(pool, (client) => inTransaction(client, (tx) => tx.query(read)))],
      ["as a workspace", (_, tenants) => tenants.of(WORKSPACE).query(read)],
      ["in a transaction of a workspace", (_, tenants) => tenants.of(WORKSPACE).transaction((tx) => tx.query(read))],
    ])("a table has got another type of column since: %s", async ([, execute], { database }) => {
      await database.query("create table changing (n int)");
      const pool = poolOf(database);
      const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 });
      onTestFinished(() => tenants.close());
      expect(await execute(pool, tenants)).toEqual({ rows: [] });
      await database.query("alter table changing alter n type text");
      await expect(execute(pool, tenants)).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(await execute(pool, tenants)).toEqual({ rows: [] });
      await database.query("drop table changing");
    });

    test("the connection has lost it", async ({ database }) => {
      const pool = poolOf(database);
      const twice = sql`select 2 as two`;
      const execute = () => onConnection(pool, (client) => inTransaction(client, (tx) => rows(tx, twice)));
      expect(await execute()).toEqual([{ two: 2 }]);
      await pool.query("deallocate all");
      await expect(execute()).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(await execute()).toEqual([{ two: 2 }]);
    });
  });

  test("fails as it did, each time, if it asks for what PostgreSQL does not support", async ({ engine }) => {
    const unsupported = () => rows(engine, sql`select count(*) from generate_series(1, 2) n for update`);
    for (let round = 0; round < 2; round += 1) await expect(unsupported()).rejects.toMatchObject({ code: "0A000" });
  });
});

test("values of every kind reach the database", async ({ engine }) => {
  const texts = ["a", 'quoted "b"', "back\\slash", "", "é"];
  const bytes = [Buffer.from([0, 255]), Buffer.from("x")];
  const found = { texts, bytes, one: bytes[0], nothing: null, missing: null, yes: true, big: 12 };
  const read = sql`
    select ${texts}::text[] as texts, ${bytes}::bytea[] as bytes, ${Buffer.from([0, 255])}::bytea as one, ${null}::text as nothing,
      ${undefined}::text as missing, ${true}::boolean as yes, ${12n}::bigint as big`;
  expect(await rows(engine, read)).toEqual([found]);
});

describe("a transaction begins with its first statement", () => {
  test("and the statement before it has effect, each time, whether the connection has executed them before or not", async ({
    database,
  }) => {
    const pool = createPool({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
    onTestFinished(() => pool.end());
    for (const value of ["a", "b", "c"]) {
      const found = await onConnection(pool, (client) =>
        inTransaction(
          client,
          async (tx) => {
            const [first, second] = await Promise.all(
              [1, 2].map((number) => rows(tx, sql`select current_setting('test.it') as it, ${number}::int as n`)),
            );
            return [first, second, await rows(tx, sql`select now() = statement_timestamp() as is_alone`)];
          },
          () => [sql`select set_config('test.it', ${value}, false)`],
        ),
      );
      expect(found).toEqual([[{ it: value, n: 1 }], [{ it: value, n: 2 }], [{ is_alone: false }]]);
    }
  });

  test("nothing is executed after a statement before it that fails, and the connection stays usable", async ({ database }) => {
    const pool = createPool({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
    onTestFinished(() => pool.end());
    await executeOn(pool, sql`create table test_effects (n int)`);
    const insert = sql`insert into test_effects values (1) returning n`;
    const divide = (by: number) => [sql`select 6 / ${by}::int`];
    for (const by of [0, 2, 0, 3]) {
      const done = onConnection(pool, (client) => executeOn(client, insert, divide(by)));
      const inOne = onConnection(pool, (client) =>
        inTransaction(
          client,
          (tx) => tx.query(insert),
          () => divide(by),
        ),
      );
      for (const one of await Promise.allSettled([done, inOne])) {
        if (by === 0) expect(one).toMatchObject({ status: "rejected", reason: { message: "division by zero" } });
        else expect(one).toMatchObject({ status: "fulfilled", value: { rows: [{ n: 1 }] } });
      }
    }
    expect((await executeOn(pool, sql`select count(*)::int as count from test_effects`)).rows).toEqual([{ count: 4 }]);
  });

  test("if it has none, nothing is executed", async ({ database }) => {
    const pool = createPool({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
    onTestFinished(() => pool.end());
    const before = () => {
      throw new Error("There is no first statement.");
    };
    expect(await onConnection(pool, (client) => inTransaction(client, async () => "done", before))).toBe("done");
    const fails = onConnection(pool, (client) => inTransaction(client, () => Promise.reject(new Error("no")), before));
    await expect(fails).rejects.toThrow("no");
  });
});

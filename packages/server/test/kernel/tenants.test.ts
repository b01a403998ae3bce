import { expect } from "vitest";
import { type Db, rows, SharedResource, type Statement, sql, Tenants, type WorkspaceId } from "#kernel";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { until } from "../harness/service.ts";

const workspace = (digit: number) => `00000000-0000-7000-8000-00000000000${digit}` as WorkspaceId;
const SIZE = 4;

test("a workspace whose statements hang keeps three quarters of the connections, and others have the rest at once", async ({
  database,
  onTestFinished,
}) => {
  const connections = new SharedResource({ name: "connections", capacity: SIZE, maxWaitMs: 60_000 });
  const options = { connection: { connectionString: database.url }, size: SIZE, statementTimeoutMs: 60_000 };
  const tenants = new Tenants(options, connections);
  onTestFinished(() => tenants.close());
  await database.query("select pg_advisory_lock(4711)");
  const hanging = Array.from({ length: 2 * SIZE }, () =>
    tenants.of(workspace(1)).query(sql`select pg_advisory_lock_shared(4711), pg_advisory_unlock_shared(4711)`),
  );
  await until(() => connections.waiting === 2 * SIZE - 3, "the others wait for a turn");
  expect(await rows(tenants.of(workspace(2)), sql`select 1 as answer`)).toEqual([{ answer: 1 }]);
  expect(connections.total).toBe(3);
  await database.query("select pg_advisory_unlock(4711)");
  await Promise.all(hanging);
  expect(connections.total).toBe(0);
});

test.for([{ idle: 0 }, { idle: 1 }])(
  "connections that are open need not be opened when several statements come at once ($idle were open before)",
  async ({ idle }, { database, engine, onTestFinished }) => {
    const tenants = new Tenants({ connection: { connectionString: database.url }, size: SIZE, statementTimeoutMs: 60_000 });
    onTestFinished(() => tenants.close());
    for (let used = 0; used < idle; used += 1) await rows(tenants.of(workspace(1)), sql`select 1`);
    await tenants.open();
    const [{ now } = { now: "" }] = await database.query<{ now: string }>("select clock_timestamp()::text as now");
    const lock = hold(engine, sql`select pg_advisory_xact_lock(4712)`);
    onTestFinished(() => lock.release());
    await lock.held;
    const opened = [1, 1, 1, 2].map((digit) =>
      rows<{ pid: number; before: boolean }>(
        tenants.of(workspace(digit)),
        sql`
          select pid, backend_start < ${now}::timestamptz as before, pg_advisory_xact_lock_shared(4712)
          from pg_stat_activity where pid = pg_backend_pid()`,
      ),
    );
    // Each on a connection of its own.
    await lock.untilWaiting(SIZE);
    await lock.release();
    const found = (await Promise.all(opened)).flat();
    expect(found.map(({ before }) => before)).toEqual([true, true, true, true]);
    expect(new Set(found.map(({ pid }) => pid)).size).toBe(SIZE);
  },
);

test("a connection shows the rows of the workspace that uses it, after failures and empty transactions of others, too", async ({
  database,
  onTestFinished,
}) => {
  const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => tenants.close());
  const [one, other] = [tenants.of(workspace(1)), tenants.of(workspace(2))];
  const who = sql`select current_setting('tidemill.workspace_id', true) as who`;
  const divide = sql`select 1 / ${0}::int`;
  const unsendable = {
    ...sql`select ${"x"}::text`,
    values: [
      {
        toString() {
          throw new TypeError("no");
        },
      },
    ],
  } as unknown as Statement;
  const asOne = async () => {
    expect(await rows(one, who)).toEqual([{ who: workspace(1) }]);
    expect(await one.transaction((tx) => rows(tx, who))).toEqual([{ who: workspace(1) }]);
  };
  const interruptions: (() => Promise<unknown>)[] = [
    () => other.query(divide),
    () => other.transaction((tx) => tx.query(divide)),
    () => other.transaction(async (tx) => [await tx.query(who), await tx.query(divide)]),
    () => other.transaction(async (tx) => tx.query(who).then(() => Promise.reject(new Error("no")))),
    () => other.transaction(async () => {}),
    () => other.transaction(() => Promise.reject(new Error("no"))),
    () => other.query(who),
    () => other.query(unsendable),
    () => other.transaction((tx) => tx.query(who)),
    () => other.transaction((tx) => tx.query(unsendable)),
    () => other.transaction((tx) => tx.query(divide).catch(() => {})),
    () => other.transaction(async (tx) => [await tx.query(unsendable).catch(() => {}), await tx.query(who)]),
    () => other.transaction(async (tx) => [await tx.query(who), await tx.query(divide).catch(() => {})]),
  ];
  await asOne();
  for (const first of interruptions) {
    await first().catch(() => {});
    await asOne();
    for (const second of interruptions) {
      await first().catch(() => {});
      await second().catch(() => {});
      expect(await rows(other, who)).toEqual([{ who: workspace(2) }]);
      await first().catch(() => {});
      await asOne();
    }
  }
});

test("a statement that comes when its transaction has ended is refused", async ({ database, onTestFinished }) => {
  const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => tenants.close());
  const who = sql`select current_setting('tidemill.workspace_id', true) as who`;
  const ends = [async () => {}, () => Promise.reject(new Error("no"))];
  for (const end of ends) {
    let late: Db | undefined;
    const transaction = tenants.of(workspace(2)).transaction((tx) => {
      late = tx;
      return end();
    });
    await transaction.catch(() => {});
    expect(await rows(tenants.of(workspace(1)), who)).toEqual([{ who: workspace(1) }]);
    await expect(late?.query(who)).rejects.toThrow("The transaction has ended.");
    expect(await rows(tenants.of(workspace(1)), who)).toEqual([{ who: workspace(1) }]);
  }
});

test("a transaction of which a statement has failed fails, whatever becomes of the error", async ({ database, onTestFinished }) => {
  const tenants = new Tenants({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 60_000 });
  onTestFinished(() => tenants.close());
  const one = tenants.of(workspace(1));
  const divide = sql`select 1 / ${0}::int`;
  await expect(one.transaction((tx) => tx.query(divide).catch(() => "done"))).rejects.toThrow("division by zero");
  const goesOn = one.transaction(async (tx) => {
    await tx.query(divide).catch(() => {});
    return tx.query(sql`select 1 as one`);
  });
  await expect(goesOn).rejects.toThrow("division by zero");
});

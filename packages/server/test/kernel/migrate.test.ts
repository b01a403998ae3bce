import { expect } from "vitest";
import { type EmitEvent, ensureSchema, migrate } from "#kernel";
import { listOpen, watchBlockers } from "../../src/kernel/database/blockers.ts";
import type { TestDatabase } from "../harness/database.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

test("a database that has a later migration gets one that came after it", async ({ stage }) => {
  const database = await stage.database();
  const names: unknown[] = [];
  await database.query("drop function latest_attempts, add_attempt");
  await database.query("delete from migration where name = '0034_bounded_attempts'");
  await migrate({ connectionString: database.url }, (_event, fields) => void names.push(fields));
  expect(names).toEqual([{ names: ["0034_bounded_attempts"] }]);
  expect(await database.query("select add_attempt('1', '2') as log")).toEqual([{ log: "1,2" }]);
});

/** A database that lacks a migration of the table `run`. */
async function olderDatabase(stage: Stage): Promise<TestDatabase> {
  const database = await stage.database();
  await database.query("alter table run drop column reported_execution cascade");
  await database.query("select make_tenant_views()");
  await database.query("delete from migration where name = '0056_reported_executions'");
  return database;
}

/** A session with an open transaction that has executed a statement, and its process id. */
async function openTransaction(stage: Stage, database: TestDatabase, statement: string) {
  const session = await stage.session(database);
  await session.query(`begin; ${statement}`);
  const { rows } = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
  return { session, pid: rows[0]?.pid };
}

/** Keeps the events of migrations, each with its fields. */
function record(): { events: unknown[]; emit: EmitEvent } {
  const events: unknown[] = [];
  return { events, emit: (name, fields) => void events.push([name, fields]) };
}

test("a migration that needs a lock which another session holds names the session, and waits until its transaction ends", async ({
  stage,
}) => {
  const database = await olderDatabase(stage);
  const { session, pid } = await openTransaction(stage, database, "lock table run in access share mode");
  const { events, emit } = record();
  const migrated = migrate({ connectionString: database.url }, emit);
  await until(() => events.length > 0, "the migration to give way");
  expect(events[0]).toEqual([
    "migration_postponed",
    {
      migration: "0056_reported_executions",
      sessions: [expect.stringMatching(new RegExp(`^pid ${pid} \\(.+ of \\w+, idle in transaction, its transaction open for \\d+ s\\)$`))],
    },
  ]);
  await database.query("select from run");
  await session.query("commit");
  await migrated;
  expect(events.at(-1)).toEqual(["migrations_ran", { names: ["0056_reported_executions"] }]);
  expect(await database.query("select reported_execution from run")).toEqual([]);
});

test("a migration locks the view of a table before the table, as statements do", async ({ stage }) => {
  const database = await olderDatabase(stage);
  const table = await openTransaction(stage, database, "lock table run in access share mode");
  // This locks the view alone.
  const view = await openTransaction(stage, database, "comment on view tidemill_tenant.run is 'locked'");
  const { events, emit } = record();
  const migrated = migrate({ connectionString: database.url }, emit);
  await until(() => events.length > 0, "the migration to give way");
  expect(events).toEqual([["migration_postponed", expect.objectContaining({ sessions: [expect.stringContaining(`pid ${view.pid} `)] })]]);
  await table.session.query("commit");
  await view.session.query("commit");
  await migrated;
});

test("a transaction that blocks a migration is open until it ends, even if its session goes on", async ({ stage }) => {
  const database = await stage.database();
  const [waiting, watcher] = [await stage.session(database), await stage.session(database)];
  const { session } = await openTransaction(stage, database, "lock table run in access share mode");
  const { rows } = await waiting.query<{ pid: number }>("select pg_backend_pid() as pid");
  await waiting.query("begin; set local lock_timeout = 200");
  const work = waiting.query("lock table run").then(
    () => "locked",
    () => "timeout",
  );
  const { blockers } = await watchBlockers(watcher, rows[0]?.pid ?? 0, work);
  expect(blockers).toEqual([expect.objectContaining({ transaction: expect.any(String) })]);
  expect(await listOpen(watcher, blockers)).toHaveLength(1);
  await session.query("commit; begin; lock table run in access share mode");
  expect(await listOpen(watcher, blockers)).toEqual([]);
});

test("work that is broken off between two statements is cancelled in a later one", async ({ stage }) => {
  const database = await stage.database();
  const [session, watcher] = [await stage.session(database), await stage.session(database)];
  const { rows } = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
  const isFirstCancelled = Promise.withResolvers<void>();
  const query = watcher.query.bind(watcher) as (text: string, values: unknown[]) => Promise<unknown>;
  Object.assign(watcher, {
    query: async (text: string, values: unknown[]) => {
      const result = await query(text, values);
      if (text.includes("pg_cancel_backend")) isFirstCancelled.resolve();
      return result;
    },
  });
  const work = async () => {
    await isFirstCancelled.promise;
    return session.query("select pg_sleep(600)").then(
      () => "done",
      ({ code }) => code,
    );
  };
  expect(await watchBlockers(watcher, rows[0]?.pid ?? 0, work(), AbortSignal.abort())).toMatchObject({ result: "57014" });
});

test("a database that a newer version has upgraded is refused", async ({ stage }) => {
  const database = await stage.database();
  await database.query("insert into migration (name, run_on) values ('9998_later', now()), ('9999_last', now())");
  const { events, emit } = record();
  await expect(migrate({ connectionString: database.url }, emit)).rejects.toMatchObject({
    code: "SCHEMA_VERSION",
    message: expect.stringContaining("does not know 2 migrations (9998_later to 9999_last)"),
  });
  expect(events).toEqual([]);
});

test("a schema is created only in an empty database", async ({ stage }) => {
  const database = await olderDatabase(stage);
  const connection = { connectionString: database.url };
  const { events, emit } = record();
  await expect(ensureSchema(connection, emit)).rejects.toMatchObject({
    code: "SCHEMA_VERSION",
    message: expect.stringContaining("lacks 1 migration (0056_reported_executions)"),
  });
  await database.query("drop schema tidemill, tidemill_tenant cascade");
  await ensureSchema(connection, emit);
  await ensureSchema(connection, emit);
  expect(events).toEqual([["migrations_ran", { names: expect.arrayContaining(["0001_workspaces", "0056_reported_executions"]) }]]);
});

test("a user who may only connect and create can apply all migrations", async ({ stage }) => {
  const database = await stage.database();
  const name = `plain_${database.name}`;
  await database.query(`create role ${name} login`);
  await database.query(`create database ${name} template template0`);
  await database.query(`revoke all on database ${name} from public`);
  await database.query(`grant connect, create on database ${name} to ${name}`);
  const url = new URL(database.url);
  url.username = name;
  url.pathname = name;
  const events: string[] = [];
  await migrate({ connectionString: url.href }, (event) => void events.push(event));
  expect(events).toEqual(["migrations_ran"]);
});

import { expect } from "vitest";
import { migrate } from "#kernel";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

test("a database that has a later migration gets one that came after it", async ({ stage }) => {
  const database = await stage.database();
  const names: unknown[] = [];
  await database.query("drop function latest_attempts, add_attempt");
  await database.query("delete from migration where name = '0034_bounded_attempts'");
  await migrate({ connectionString: database.url }, (_event, fields) => void names.push(fields));
  expect(names).toEqual([{ names: ["0034_bounded_attempts"] }]);
  expect(await database.query("select add_attempt('1', '2') as log")).toEqual([{ log: "1,2" }]);
});

test("a migration that needs a lock which another session holds lets others go first, and waits until it gets it", async ({ stage }) => {
  const database = await stage.database();
  await database.query("alter table run drop column reported_execution cascade");
  await database.query("delete from migration where name = '0056_reported_executions'");
  const session = await stage.session(database);
  await session.query("begin");
  await session.query("lock table run in access share mode");
  const events: string[] = [];
  const migrated = migrate({ connectionString: database.url }, (event) => void events.push(event));
  await until(() => events.includes("migration_postponed"), "the migration to give way");
  await database.query("select from run");
  await session.query("commit");
  await migrated;
  expect(events.at(-1)).toBe("migrations_ran");
  expect(await database.query("select reported_execution from run")).toEqual([]);
});

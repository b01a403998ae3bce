import { expect } from "vitest";
import type { TestDatabase } from "../../server/test/harness/database.ts";
import { MASTER_KEY } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";
import { runHere } from "./run-here.ts";

const FREE_PORTS = { TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" };

/** What `tidemill doctor` finds out about the schema. */
async function examineSchema({ url }: TestDatabase) {
  const { stdout } = await runHere(["doctor", "--json"], { ...FREE_PORTS, DATABASE_URL: url });
  return (JSON.parse(stdout) as { check: string; status: string; message: string }[]).find(({ check }) => check === "schema");
}

test("operator commands refuse a database of an older version, and leave it as it is", async ({ stage }) => {
  const database = await stage.database();
  expect(await examineSchema(database)).toMatchObject({ status: "ok", message: "It is the schema of this version." });
  await database.query("delete from migration where name in ('0061_steps_by_child', '0068_spared_errors')");
  for (const command of [
    ["node", "list"],
    ["workspace", "create", "Acme"],
    ["vault", "rotate-master-key"],
  ]) {
    const { code, stdout, stderr } = await runHere(command, { DATABASE_URL: database.url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^tidemill: The database is of an older version of Tidemill: it lacks 2 migrations \(0061_steps_by_child to 0068_spared_errors\)\. .+\n$/,
    );
    expect(stderr).toContain("Make a backup, then start a node of this version");
  }
  expect(await examineSchema(database)).toMatchObject({ status: "warning", message: expect.stringContaining("2 migrations") });
  expect(await database.query("select from migration where name in ('0061_steps_by_child', '0068_spared_errors')")).toEqual([]);
});

test("a lost master key can be given up in a database of an older version, before a node upgrades it", async ({ stage }) => {
  const database = await stage.database();
  const settings = { DATABASE_URL: database.url, TIDEMILL_DATA_DIR: stage.directory(), TIDEMILL_MASTER_KEY: MASTER_KEY };
  const lost = "0123456789abcdef";
  await database.query("delete from migration where name = '0068_spared_errors'");
  await database.query("alter table run drop column spared_error cascade");
  await database.query(`insert into own_key (name, wrapped_key, master_key_id) values ('totp', '\\x00', '${lost}')`);
  await database.query(`insert into vault (master_key_id) values ('${lost}')`);
  const status = await runHere(["vault", "status", "--json"], settings);
  expect(JSON.parse(status.stdout).keys).toContainEqual({ master_key: lost, current: true, given: false, secrets: 0 });
  expect(await runHere(["vault", "give-up", lost, "--json"], settings)).toMatchObject({ code: 0, stderr: "" });
  expect(await database.query("select from own_key")).toEqual([]);
  expect(await database.query("select from migration where name = '0068_spared_errors'")).toEqual([]);
});

test("vault commands refuse a database of a version that had another vault", async ({ stage }) => {
  const database = await stage.database();
  await database.query("delete from migration where name = '0022_second_factors'");
  await database.query("drop table own_key cascade");
  const { code, stderr } = await runHere(["vault", "give-up", "0123456789abcdef"], { DATABASE_URL: database.url });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("it lacks 1 migration (0022_second_factors)") });
});

test("operator commands refuse a database that a newer version has upgraded", async ({ stage }) => {
  const database = await stage.database();
  await database.query("insert into migration (name, run_on) values ('9999_later', now())");
  const { code, stderr } = await runHere(["node", "list"], { DATABASE_URL: database.url });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("this version does not know 1 migration (9999_later)") });
  expect(await examineSchema(database)).toMatchObject({ status: "failed", message: expect.stringContaining("9999_later") });
});

test("the first operator command creates the schema in an empty database", async ({ stage }) => {
  const database = await stage.database();
  await database.query("drop schema tidemill, tidemill_tenant cascade");
  expect(await examineSchema(database)).toMatchObject({ status: "ok", message: expect.stringContaining("empty") });
  expect(await runHere(["workspace", "create", "Acme", "--json"], { DATABASE_URL: database.url })).toMatchObject({ code: 0, stderr: "" });
  expect(await database.query("select name from workspace")).toEqual([{ name: "Acme" }]);
});

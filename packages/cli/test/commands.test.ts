import { existsSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { hasPostgres, postmasterOf } from "../../server/test/harness/cluster.ts";
import { KEY, type NodeProcess } from "../../server/test/harness/process.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";

const VERSION = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** The cells of the one row of a table, by their column's name. */
function readTable(text: string): Record<string, string> {
  const [head = "", row = ""] = text.split("\n");
  const columns = [...head.matchAll(/\S+\s*/g)].map(({ 0: name, index }) => ({ name: name.trim(), from: index, to: index + name.length }));
  return Object.fromEntries(
    columns.map(({ name, from, to }, at) => [name, row.slice(from, at === columns.length - 1 ? undefined : to).trim()]),
  );
}

/** Runs a command that must succeed, and answers what it printed. */
async function output(stage: Stage, args: string[], settings: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await stage.run(args, settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

async function allows(node: NodeProcess, key: string, method: string, path: string, body?: unknown): Promise<number> {
  return (await new Client(node.url, key).api(method, path, body)).status;
}

describe("workspaces and keys from the command line", () => {
  test("without a running node: PostgreSQL is started for the while, and the key works at the next start", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.dataDir() };
    const printed = readTable(await output(stage, ["workspace", "create", "Acme & Sons"], settings));
    expect(printed).toMatchObject({
      NAME: "Acme & Sons",
      PLAN: "free",
      KEY: expect.stringMatching(/^svc_ws_\w{38}$/),
      ID: expect.stringMatching(/^ws_\w{26}$/),
    });
    expect(await hasPostgres(settings.TIDEMILL_DATA_DIR)).toBe(false);
    const key = JSON.parse(
      await output(stage, ["key", "create", printed.ID ?? "", "--name", "reader", "--role", "read", "--json"], settings),
    );
    expect(key).toEqual({
      id: expect.stringMatching(/^key_\w{26}$/),
      name: "reader",
      role: "read",
      key: expect.stringMatching(/^svc_ws_\w{38}$/),
      expires_at: null,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await hasPostgres(settings.TIDEMILL_DATA_DIR)).toBe(false);

    const node = await stage.node({ ...settings });
    expect(await allows(node, printed.KEY ?? "", "POST", "/v1/queues", { name: "one" })).toBe(201);
    expect(await allows(node, key.key, "GET", "/v1/queues/one")).toBe(200);
    expect(await allows(node, key.key, "POST", "/v1/queues", { name: "two" })).toBe(403);
  });

  test("beside a running node: its PostgreSQL goes on, and the keys work at once", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.dataDir() };
    const node = await stage.node(settings);
    const postgres = postmasterOf(settings.TIDEMILL_DATA_DIR);
    const workspace = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--plan", "team", "--json"], settings));
    expect(workspace).toEqual({
      id: expect.stringMatching(/^ws_\w{26}$/),
      name: "Acme",
      plan: "team",
      limits: { executions_per_month: expect.any(Number), requests_per_minute: expect.any(Number), retention_days: expect.any(Number) },
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      key: expect.stringMatching(/^svc_ws_\w{38}$/),
    });
    const writer = readTable(await output(stage, ["key", "create", workspace.id, "--name", "writer"], settings));
    const late = JSON.parse(
      await output(
        stage,
        ["key", "create", workspace.id, "--name", "late", "--expires-at", "2020-01-31T12:00:00+01:00", "--json"],
        settings,
      ),
    );
    expect(writer).toMatchObject({ NAME: "writer", ROLE: "write", EXPIRES_AT: "" });
    expect(late).toMatchObject({ role: "write", expires_at: "2020-01-31T11:00:00.000Z" });

    expect(await allows(node, workspace.key, "POST", "/v1/queues", { name: "mails", callback_url: "http://127.0.0.1:9/" })).toBe(201);
    expect(await allows(node, writer.KEY ?? "", "POST", "/v1/queues/mails/jobs", { payload: 1, delay: 60 })).toBe(201);
    expect(await allows(node, late.key, "GET", "/v1/queues")).toBe(401);
    // Another workspace's.
    expect(await allows(node, KEY, "GET", "/v1/queues/mails")).toBe(404);
    expect(postmasterOf(settings.TIDEMILL_DATA_DIR)).toBe(postgres);
    expect(node.ended).toBeNull();
  });

  test("in a database of one's own", async ({ stage }) => {
    const database = await stage.database();
    const { key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--json"], { DATABASE_URL: database.url }));
    const node = await stage.node({ DATABASE_URL: database.url });
    expect(await allows(node, key, "GET", "/v1/queues")).toBe(200);
  });

  test.for([
    [["workspace", "create"], "missing required argument 'name'"],
    [["workspace", "create", "a", "b"], "too many arguments"],
    [["workspace", "create", ""], "name of 1 to 128 characters"],
    [["workspace", "create", "Acme", "--plan", "gold"], "plan free, pro, team or enterprise"],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9"], "--name"],
    [["key", "create", "acme", "--name", "x"], '"acme" is not the id of a workspace'],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--role", "king"], "role admin, write or read"],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--expires-at", "tomorrow"], "expires at a date and time"],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--colour"], "unknown option '--colour'"],
    [["down"], "unknown command 'down'"],
    [["up", "there"], "too many arguments"],
  ] as const)("what is wrong with %j is said in one line, and nothing is started for it", async ([args, says], { stage }) => {
    const dataDir = stage.dataDir();
    const { code, stdout, stderr } = await stage.run(args, { TIDEMILL_DATA_DIR: dataDir });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^(tidemill|error): [^\n]+\n$/);
    expect(stderr).toContain(says);
    expect(existsSync(dataDir)).toBe(false);
  });

  test("a workspace that does not exist gets no key", async ({ stage }) => {
    const database = await stage.database();
    const { code, stdout, stderr } = await stage.run(["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x"], {
      DATABASE_URL: database.url,
    });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "tidemill: There is no workspace ws_01m7zf6kffe00a0a7enfysbfm9.\n",
    });
  });
});

describe("tidemill config", () => {
  const settings = {
    TIDEMILL_PORT: "1234",
    DATABASE_URL: "postgres://user:unguessable@host/name",
    TIDEMILL_ADMIN_TOKEN: "unguessable-token",
    TIDEMILL_BOOTSTRAP_KEY: KEY,
  };

  test("shows every setting, and no secret", async ({ stage }) => {
    const table = await output(stage, ["config"], settings);
    expect(table).toMatch(/^TIDEMILL_PORT or PORT +1234 +Port of the API/m);
    expect(table).toMatch(/^DATABASE_URL +\(set\) /m);
    const rows = JSON.parse(await output(stage, ["config", "--json"], settings)) as {
      name: string;
      value: string;
      fallback: string;
      about: string;
    }[];
    expect(rows.find(({ name }) => name === "TIDEMILL_PORT or PORT")).toMatchObject({ value: "1234", fallback: "8080" });
    for (const { name, about } of rows) {
      expect(table).toContain(name);
      expect(about).not.toBe("");
    }
    for (const secret of ["unguessable", KEY]) {
      expect(table).not.toContain(secret);
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
  });

  test("does not mind a reader who has seen enough", async ({ stage }) => {
    const program = stage.program(["config"], settings);
    program.hangUp();
    expect(await program.end()).toEqual({ code: 0, signal: null });
  });

  test("says in one line what is wrong", async ({ stage }) => {
    const { code, stdout, stderr } = await stage.run(["config"], { TIDEMILL_PORT: "high" });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "tidemill: TIDEMILL_PORT must be a whole number from 0 to 65535.\n",
    });
  });
});

test("tidemill --version, --help", async ({ stage }) => {
  expect(await output(stage, ["--version"], {})).toBe(`${VERSION}\n`);
  const help = await output(stage, ["--help"], {});
  for (const command of ["up", "config", "workspace", "key"]) expect(help).toMatch(new RegExp(`^ +${command}\\b`, "m"));
});

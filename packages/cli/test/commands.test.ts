import { existsSync, readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { hasPostgres, postmasterOf } from "../../server/test/harness/cluster.ts";
import { KEY, type NodeProcess } from "../../server/test/harness/process.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";
import { output, outputHere, readRows, readTable } from "./output.ts";
import { runHere } from "./run-here.ts";

const VERSION = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

async function allows(node: NodeProcess, key: string, method: string, path: string, body?: unknown): Promise<number> {
  return (await new Client(node.url, key).api(method, path, body)).status;
}

describe("workspaces and keys from the command line", () => {
  test("a workspace and a key can be made without a running node, and the key works at the next start", async ({ stage }) => {
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
      queues: null,
      workflows: null,
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

  test("a workspace and keys can be made beside a running node, and the keys work at once", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir() };
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
        ["key", "create", workspace.id, "--name", "late", "--expires-at", "2999-01-31T12:00:00+01:00", "--json"],
        settings,
      ),
    );
    expect(writer).toMatchObject({ NAME: "writer", ROLE: "write", EXPIRES_AT: "" });
    expect(late).toMatchObject({ role: "write", expires_at: "2999-01-31T11:00:00.000Z" });
    const newest = await outputHere(["key", "list", workspace.id, "--limit", "2", "--json"], settings);
    expect(JSON.parse(newest)).toMatchObject([{ id: late.id }, { name: "writer" }]);

    expect(await allows(node, workspace.key, "POST", "/v1/queues", { name: "mails", callback_url: "http://127.0.0.1:9/" })).toBe(201);
    expect(await allows(node, writer.KEY ?? "", "POST", "/v1/queues/mails/jobs", { payload: 1, delay: 60 })).toBe(201);
    expect(await allows(node, late.key, "GET", "/v1/queues")).toBe(200);
    expect(await output(stage, ["key", "revoke", workspace.id, late.id], settings)).toMatch(/^ID\tREVOKED\nkey_\w+\ttrue\n$/);
    await until(async () => (await allows(node, late.key, "GET", "/v1/queues")) === 401, "the key to be refused");
    // Another workspace's.
    expect(await allows(node, KEY, "GET", "/v1/queues/mails")).toBe(404);
    expect(postmasterOf(settings.TIDEMILL_DATA_DIR)).toBe(postgres);
    expect(node.ended).toBeNull();
  });

  test("a workspace can be made in a database of one's own", async ({ stage }) => {
    const database = await stage.database();
    const { key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--json"], { DATABASE_URL: database.url }));
    const node = await stage.node({ DATABASE_URL: database.url });
    expect(await allows(node, key, "GET", "/v1/queues")).toBe(200);
  });

  test.for([
    [["workspace", "create"], "Missing required argument 'name'"],
    [["workspace", "create", "a", "b"], "Too many arguments"],
    [["workspace", "create", ""], "The name must have 1 to 128 characters, and no control characters."],
    [["workspace", "create", "Acme", "--plan", "gold"], "tidemill: --plan must be one of free, pro, team, enterprise.\n"],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9"], "--name"],
    [["key", "create", "acme", "--name", "x"], '"acme" is not the id of a workspace'],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--role", "king"], "one of admin, write, read, worker"],
    [
      ["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--role", "worker", "--queues", "a,,b"],
      "1 to 100 different queues",
    ],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--expires-at", "tomorrow"], "expires at a date and time"],
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x", "--colour"], "Unknown option '--colour'"],
    [["workspace", "create", "Acme", "--executions", "many"], 'whole number or "none"'],
    [["workspace", "create", "Acme", "--requests-per-minute", "0"], "tidemill: --requests-per-minute must be a whole number from 1"],
    [["workspace", "update", "ws_01m7zf6kffe00a0a7enfysbfm9"], "There is nothing to change"],
    [
      ["workspace", "update", "ws_01m7zf6kffe00a0a7enfysbfm9", "--plan", "gold"],
      "tidemill: --plan must be one of free, pro, team, enterprise.\n",
    ],
    [["workspace", "update", "ws_01m7zf6kffe00a0a7enfysbfm9", "--retention-days", "-1"], 'whole number or "none"'],
    [["workspace", "update", "acme", "--name", "x"], '"acme" is not the id of a workspace'],
    [["workspace", "delete", "acme", "--yes"], '"acme" is not the id of a workspace'],
    [["workspace", "delete", "ws_01m7zf6kffe00a0a7enfysbfm9"], "needs --yes"],
    [["schedule", "list", "acme"], '"acme" is not the id of a workspace'],
    [["schedule", "list", "ws_01m7zf6kffe00a0a7enfysbfm9", "--next", "0"], "whole number from 1 to 10"],
    [["schedule", "list", "ws_01m7zf6kffe00a0a7enfysbfm9", "--next", "11"], "whole number from 1 to 10"],
    [["key", "list", "acme"], '"acme" is not the id of a workspace'],
    [["key", "revoke", "ws_01m7zf6kffe00a0a7enfysbfm9"], "Give the id of a key"],
    [["key", "revoke", "ws_01m7zf6kffe00a0a7enfysbfm9", "deploys"], "Give the id of the key, key_…"],
    [["down"], "Unknown command 'down'"],
    [["queue", "creat", "x"], "tidemill: Unknown command 'creat'. Did you mean create?\n"],
    [["queue", "create", "x", "--rate-limit", "10/60"], `Expected JSON, for example '{"max":100,"per_seconds":60}'.\n`],
    [["up", "there"], "Too many arguments"],
  ] as const)("what is wrong with %j is said in one line, and nothing is started for it", async ([args, says], { stage }) => {
    const dataDir = stage.dataDir();
    const { code, stdout, stderr } = await runHere(args, { TIDEMILL_DATA_DIR: dataDir });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^tidemill: [^\n]+\n$/);
    expect(stderr).toContain(says);
    expect(existsSync(dataDir)).toBe(false);
  });

  test.for([
    [["key", "create", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x"], 'There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".'],
    [["schedule", "list", "ws_01m7zf6kffe00a0a7enfysbfm9"], 'There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".'],
    [["key", "list", "ws_01m7zf6kffe00a0a7enfysbfm9"], 'There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".'],
    [
      ["key", "revoke", "ws_01m7zf6kffe00a0a7enfysbfm9", "key_01kajv3k4ve6nsd9z5kgtzx0rw"],
      'There is no key "key_01kajv3k4ve6nsd9z5kgtzx0rw".',
    ],
    [["workspace", "update", "ws_01m7zf6kffe00a0a7enfysbfm9", "--name", "x"], 'There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".'],
    [["workspace", "delete", "ws_01m7zf6kffe00a0a7enfysbfm9", "--yes"], 'There is no workspace "ws_01m7zf6kffe00a0a7enfysbfm9".'],
  ] as const)("what does not exist is said not to: %j", async ([args, says], { stage }) => {
    const database = await stage.database();
    expect(await runHere(args, { DATABASE_URL: database.url })).toEqual({ code: 1, stdout: "", stderr: `tidemill: ${says}\n` });
  });

  test.for([
    [["key", "list"], 3],
    [["workspace", "create", ""], 1],
    [["workspace", "list"], 0],
    [["key", "list", "ws_01m7zf6kffe00a0a7enfysbfm9"], 1],
  ] as const)("a process of its own says and ends as the same command does here: %j", async ([args, code], { stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    expect(await stage.run(args, settings)).toEqual({ ...(await runHere(args, settings)), signal: null, code });
  });

  test("workspaces and keys are listed, changed and deleted", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const run = (...args: string[]) => output(stage, args, settings);
    const json = async (...args: string[]) => JSON.parse(await outputHere([...args, "--json"], settings));
    expect(await run("workspace", "list")).toMatch(/^ID\tNAME\tPLAN\tEXECUTIONS_PER_MONTH\t.*\n$/);
    expect(await json("workspace", "list")).toEqual([]);

    const made = readTable(await run("workspace", "create", "Acme", "--plan", "pro", "--executions", "none", "--retention-days", "90"));
    expect(made).toMatchObject({ EXECUTIONS_PER_MONTH: "none", REQUESTS_PER_MINUTE: "300", RETENTION_DAYS: "90", KEY: expect.anything() });
    const id = made.ID ?? "";
    await json("workspace", "create", "Acme");
    const listed = await json("workspace", "list");
    expect(listed).toMatchObject([
      { name: "Acme", plan: "free" },
      { id, name: "Acme", plan: "pro", limits: { executions_per_month: null, requests_per_minute: 300, retention_days: 90 } },
    ]);
    expect(readRows(await run("workspace", "list"))).toMatchObject([{ PLAN: "free" }, { ID: id, PLAN: "pro", RETENTION_DAYS: "90" }]);

    expect(await json("workspace", "update", id, "--name", "Acme & Sons", "--requests-per-minute", "7")).toEqual({
      ...listed[1],
      name: "Acme & Sons",
      limits: { executions_per_month: null, requests_per_minute: 7, retention_days: 90 },
      updated_at: expect.any(String),
    });
    expect(readTable(await run("workspace", "update", id, "--plan", "team"))).toMatchObject({
      NAME: "Acme & Sons",
      PLAN: "team",
      REQUESTS_PER_MINUTE: "1000",
    });

    const key = await json("key", "create", id, "--name", "deploys", "--role", "read", "--expires-at", "2999-01-01T00:00:00Z");
    const { key: text, ...shown } = key;
    const keys = await json("key", "list", id);
    expect(keys).toEqual([
      { ...shown, last_used_at: null },
      {
        ...shown,
        id: expect.stringMatching(/^key_/),
        name: "First key",
        role: "admin",
        expires_at: null,
        last_used_at: null,
        created_at: expect.any(String),
      },
    ]);
    const table = await run("key", "list", id);
    expect(readRows(table)).toMatchObject([
      { NAME: "deploys", EXPIRES_AT: "2999-01-01T00:00:00.000Z", LAST_USED_AT: "" },
      { NAME: "First key" },
    ]);
    for (const secret of [text, made.KEY]) expect(table + JSON.stringify(keys)).not.toContain(secret);
    expect(await json("key", "revoke", id, key.id)).toEqual({ id: key.id, revoked: true });
    expect(await json("key", "list", id)).toHaveLength(1);

    expect(await json("workspace", "delete", id, "--yes")).toEqual({ id, deleted: true });
    expect((await json("workspace", "list")).map((one: { id: string }) => one.id)).toEqual([listed[0].id]);
  });

  test("lists of workspaces and keys go on to the last one, whatever a page holds", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url };
    const { id } = JSON.parse(await outputHere(["workspace", "create", "Acme", "--json"], settings));
    await database.query(
      "insert into api_key (id, workspace_id, name, role, hash) select gen_random_uuid(), w.id, 'key ' || n, 'read', sha256(n::text::bytea) from workspace w, generate_series(1, 200) n",
    );
    await database.query(
      "insert into workspace (id, name, plan) select gen_random_uuid(), 'Workspace ' || n, 'free' from generate_series(1, 199) n",
    );
    for (const args of [
      ["workspace", "list"],
      ["key", "list", id, "--all"],
    ]) {
      const all = JSON.parse(await outputHere([...args, "--json"], settings)) as { id: string }[];
      expect([args[0], new Set(all.map((one) => one.id)).size, all.length]).toEqual([args[0], args[0] === "key" ? 201 : 200, all.length]);
    }
  });

  test("names with control characters do not reach the terminal as they are", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const name = "a\u001b[2Jb\nc\u009bd";
    const { id } = JSON.parse(await output(stage, ["workspace", "create", name, "--json"], settings));
    expect(readRows(await output(stage, ["workspace", "list"], settings))).toMatchObject([
      { ID: id, NAME: String.raw`a\u001b[2Jb\u000ac\u009bd`, PLAN: "free" },
    ]);
  });

  test("a workspace deleted beside a running node has its attempts ended there", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const { id, key } = JSON.parse(await output(stage, ["workspace", "create", "Acme", "--plan", "pro", "--json"], settings));
    const node = await stage.node(settings);
    const handler = await stage.handler("hang");
    const acme = new Client(node.url, key);
    await acme.enqueue(await acme.queue("mails", handler.url, { callback_timeout: 900 }));
    await until(() => handler.open === 1, "the attempt to be under way");
    await output(stage, ["workspace", "delete", id, "--yes"], settings);
    await until(() => handler.open === 0, "the attempt to be ended");
    expect(await acme.status("/v1/queues")).toBe(401);
  });

  test("a key of role worker is bound to queues, which the list shows, and takes jobs of these alone", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const { id, key } = JSON.parse(await outputHere(["workspace", "create", "Acme", "--json"], settings));
    const bound = ["key", "create", id, "--name", "mailer", "--role", "worker", "--queues", "emails, sms", "--json"];
    const created = JSON.parse(await outputHere(bound, settings));
    expect(created).toMatchObject({ role: "worker", queues: ["emails", "sms"] });
    expect(readRows(await outputHere(["key", "list", id], settings))).toMatchObject([{ QUEUES: '["emails","sms"]' }, { QUEUES: "" }]);

    const node = await stage.node(settings);
    for (const name of ["emails", "orders"]) expect(await allows(node, key, "POST", "/v1/queues", { name })).toBe(201);
    expect(await allows(node, created.key, "POST", "/v1/queues/emails/jobs/claim", { worker: "w" })).toBe(200);
    expect(await allows(node, created.key, "POST", "/v1/queues/orders/jobs/claim", { worker: "w" })).toBe(403);
  });

  test("queues are for keys of role worker", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const { id } = JSON.parse(await outputHere(["workspace", "create", "Acme", "--json"], settings));
    const reader = ["key", "create", id, "--name", "reader", "--role", "read", "--queues", "emails"];
    expect(await runHere(reader, settings)).toEqual({ code: 1, stdout: "", stderr: "tidemill: queues is for keys of role worker.\n" });
  });

  test("a key that would have expired already is not made", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url };
    const { id } = JSON.parse(await outputHere(["workspace", "create", "Acme", "--json"], settings));
    const late = ["key", "create", id, "--name", "late", "--expires-at", "2020-01-31T12:00:00Z"];
    expect(await runHere(late, settings)).toEqual({ code: 1, stdout: "", stderr: "tidemill: expires_at must be later than now.\n" });
  });
});

describe("tidemill config", () => {
  const settings = {
    TIDEMILL_PORT: "1234",
    DATABASE_URL: "postgres://user:unguessable@host/name",
    TIDEMILL_ADMIN_TOKEN: "unguessable-token",
    TIDEMILL_BOOTSTRAP_KEY: KEY,
  };

  test("tidemill config shows every setting, and no secret", async ({ stage }) => {
    const table = await output(stage, ["config"], settings);
    expect(table).toMatch(/^TIDEMILL_PORT or PORT\t1234\tPort of the API/m);
    expect(table).toMatch(/^DATABASE_URL\t\(set\)\t/m);
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

  test("tidemill config does not mind a reader who has seen enough", async ({ stage }) => {
    const program = stage.program(["config"], settings);
    program.hangUp();
    expect(await program.end()).toEqual({ code: 0, signal: null });
  });

  test("tidemill config says in one line what is wrong", async ({ stage }) => {
    const { code, stdout, stderr } = await stage.run(["config"], { TIDEMILL_PORT: "high" });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr: "tidemill: TIDEMILL_PORT must be a whole number from 0 to 65535.\n",
    });
  });
});

test("tidemill --version prints the version, and --help every command", async ({ stage }) => {
  expect(await output(stage, ["--version"], {})).toBe(`${VERSION}\n`);
  const help = await output(stage, ["--help"], {});
  for (const command of ["up", "config", "workspace", "key", "schedule"]) expect(help).toMatch(new RegExp(`^ +${command}\\b`, "m"));
});

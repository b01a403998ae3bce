import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import pg from "pg";
import { describe, expect } from "vitest";
import { chooseUnprivileged, readAccounts } from "../../src/kernel/database/embedded/account.ts";
import { type Cluster, hasPostgres } from "../harness/cluster.ts";
import type { RunAs, Settings } from "../harness/process.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

const FREE_PORTS = { TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" };

/** Starts a node that must not start. Returns the one line that it prints. */
async function refusal(stage: Stage, settings: Settings, runAs?: RunAs): Promise<string> {
  const { code, signal, stdout, stderr } = await stage.run(["up"], { ...FREE_PORTS, ...settings }, runAs);
  expect({ code, signal, stdout }).toEqual({ code: 1, signal: null, stdout: "" });
  expect(stderr).toMatch(/^tidemill: [^\n]+\n$/);
  return stderr.slice("tidemill: ".length, -1);
}

/** A port on which a server accepts connections and never responds. */
async function takenPort(stage: Stage): Promise<number> {
  const callers: Socket[] = [];
  const server = createServer((caller) => callers.push(caller.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stage.finally(async () => {
    for (const caller of callers) caller.destroy();
    server.close();
  });
  return (server.address() as { port: number }).port;
}

describe("a start with a wrong setting says so in one line", () => {
  test.for([
    ["TIDEMILL_PORT", "http", "whole number from 0 to 65535"],
    ["PORT", "70000", "whole number from 0 to 65535"],
    ["TIDEMILL_DRAIN_SECONDS", "-1", "whole number from 0"],
    ["TIDEMILL_NODE_LEASE_SECONDS", "1.5", "whole number from 2"],
    ["TIDEMILL_ENV", "staging", "development, production"],
    ["TIDEMILL_LOG_LEVEL", "loud", "debug, info, warn, error, silent"],
    ["TIDEMILL_DEFAULT_PLAN", "gold", "free, pro, team, enterprise"],
    ["DATABASE_URL", "mysql://user:unguessable@host/name", "postgres:// URL"],
    ["TIDEMILL_BOOTSTRAP_KEY", "unguessable", "svc_ws_"],
    ["TIDEMILL_ADMIN_TOKEN", "unguessable", "at least 16 characters"],
    ["TIDEMILL_ALLOW_ADDRESSES", "10.0.0.0/8, 10.0.0.0/33", '"10.0.0.0/33"'],
  ] as const)("a start with a wrong setting says so in one line: %s=%s", async ([name, value, says], { stage }) => {
    const dataDir = stage.dataDir();
    const { TIDEMILL_PORT: _, ...others } = FREE_PORTS;
    const { code, stdout, stderr } = await stage.run(["up"], { ...others, TIDEMILL_DATA_DIR: dataDir, [name]: value });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^tidemill: [^\n]+\n$/);
    expect(stderr).toContain(`tidemill: ${name} must `);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain("unguessable");
    expect(existsSync(dataDir)).toBe(false);
  });

  test("a bootstrap key that comes too late is logged, and does not hinder the start", async ({ stage }) => {
    const { url } = await stage.database();
    const first = await stage.node({ DATABASE_URL: url });
    expect(first.logged("bootstrap_key_refused")).toBe(0);
    const late = await stage.node({ DATABASE_URL: url, TIDEMILL_BOOTSTRAP_KEY: "svc_ws_TheKeyThatComesTooLate" });
    expect(late.logged("bootstrap_key_refused")).toBe(1);
  });

  test("an unknown setting is named, and does not hinder the start", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url, TIDEMILL_DRAIN_SECOND: "5" });
    expect(node.stderr).toContain("tidemill: TIDEMILL_DRAIN_SECOND is not a setting");
  });
});

describe("a start on a port that is taken", () => {
  test("a start on a port that is taken says which, leaves no PostgreSQL running, and spares the key for the start that succeeds", async ({
    stage,
  }) => {
    const dataDir = stage.dataDir();
    const port = await takenPort(stage);
    expect(await refusal(stage, { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_PORT: String(port) })).toContain(`Port ${port} is in use`);
    expect(await hasPostgres(dataDir)).toBe(false);
    expect(await refusal(stage, { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_INTERNAL_PORT: String(port) })).toMatch(
      new RegExp(`Port ${port} is in use.*TIDEMILL_INTERNAL_PORT`),
    );
    expect(await hasPostgres(dataDir)).toBe(false);

    const node = await stage.node({ TIDEMILL_DATA_DIR: dataDir, TIDEMILL_BOOTSTRAP_KEY: "" });
    expect(node.shownKey).toMatch(/^svc_ws_/);
  });
});

describe("a start on a database of another version", () => {
  const APPLIED = "select name from migration where name = '0061_steps_by_child'";

  test("a start that fails leaves a database of an older version as it is; one that succeeds upgrades it", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url });
    await node.client.ok("POST", "/v1/secrets", { name: "TOKEN", value: "unguessable" });
    node.signal("SIGTERM");
    await node.end();
    await database.query("drop index run_step_child");
    await database.query("delete from migration where name = '0061_steps_by_child'");

    const port = String(await takenPort(stage));
    for (const name of ["TIDEMILL_PORT", "TIDEMILL_INTERNAL_PORT"])
      expect(await refusal(stage, { DATABASE_URL: database.url, [name]: port })).toContain(`Port ${port} is in use`);
    expect(await refusal(stage, { DATABASE_URL: database.url, TIDEMILL_MASTER_KEY: "f".repeat(64) })).toContain(
      "The vault needs the master key",
    );
    expect(await database.query(APPLIED)).toEqual([]);
    await stage.node({ DATABASE_URL: database.url });
    expect(await database.query(APPLIED)).toHaveLength(1);
  });

  test("a signal breaks off a start that waits for a migration, or for another node that migrates", async ({ stage }) => {
    const database = await stage.database();
    await database.query("drop index run_step_child");
    await database.query("delete from migration where name = '0061_steps_by_child'");
    const session = await stage.session(database);
    await session.query("begin; delete from run_step");
    const migrating = stage.start({ DATABASE_URL: database.url });
    await until(() => migrating.logged("migration_postponed") > 0, "the migration to wait");
    const next = stage.start({ DATABASE_URL: database.url });
    await until(() => next.logged("migrations_awaited") > 0, "the next node to wait for its turn");
    for (const node of [next, migrating]) {
      node.signal("SIGTERM");
      expect(await node.end()).toEqual({ code: 0, signal: null });
      expect(node.stdout).toContain("The start was broken off.");
    }
    await session.query("commit");
    expect(await database.query(APPLIED)).toEqual([]);
  });

  test("a start on a database that a newer version has upgraded is refused, while a node that runs goes on", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url });
    await database.query("insert into migration (name, run_on) values ('9999_later', now())");
    expect(await refusal(stage, { DATABASE_URL: database.url })).toContain("this version does not know 1 migration (9999_later)");
    expect((await node.client.ok("GET", "/v1/queues")).data).toEqual([]);
  });
});

describe("a start without its database", () => {
  test.for([
    ["a port that nobody listens on", "postgres://somebody:unguessable@127.0.0.1:1/tidemill"],
    ["a socket that is not there", "postgres://somebody:unguessable@%2Fnowhere:5432/tidemill"],
    ["a name without an address", "postgres://somebody:unguessable@database.invalid:5432/tidemill"],
  ] as const)("a start without its database says so: %s", async ([, url], { stage }) => {
    const line = await refusal(stage, { DATABASE_URL: url });
    expect(line).toContain("DATABASE_URL");
    expect(line).not.toContain("unguessable");
  });

  test("a start without its database says so when whoever has the port never answers", async ({ stage }) => {
    const port = await takenPort(stage);
    expect(await refusal(stage, { DATABASE_URL: `postgres://somebody@127.0.0.1:${port}/tidemill` })).toContain("DATABASE_URL");
  });

  test("a start without its database says so when it is none", async ({ stage }) => {
    const { port } = await stage.handler();
    expect(await refusal(stage, { DATABASE_URL: `postgres://somebody@127.0.0.1:${port}/tidemill` })).toContain("DATABASE_URL");
  });

  test("a start without its database says so when it does not let us in, or is lost on the way", async ({ stage }) => {
    const cluster = await stage.cluster(stage.dataDir());
    await cluster.query("create role stranger login password 'right'");
    await asksForPasswords(cluster, "stranger");
    const wrong = { user: "stranger", password: "unguessable" };
    const refused = await refusal(stage, { DATABASE_URL: cluster.url(wrong) });
    expect(refused).toMatch(/DATABASE_URL.*password authentication failed/);
    expect(refused).not.toContain("unguessable");
    expect(await refusal(stage, { DATABASE_URL: cluster.url({ database: "absent" }) })).toMatch(/DATABASE_URL.*"absent" does not exist/);
    expect(await refusal(stage, { DATABASE_URL: cluster.url({ user: "stranger", password: "right" }) })).toMatch(/permission denied/);

    await cluster.query("create database fresh");
    const other = new pg.Client(cluster.url({ database: "fresh" }));
    stage.finally(() => other.end());
    other.on("error", () => {});
    await other.connect();
    // As another node does that migrates the schema.
    await other.query("select pg_advisory_lock(7305512009)");
    const node = stage.start({ DATABASE_URL: cluster.url({ database: "fresh" }), TIDEMILL_LOG_LEVEL: "error" });
    await until(
      async () => (await cluster.query("select from pg_locks where not granted and locktype = 'advisory'")).length === 1,
      "the node to wait for its turn",
    );
    await cluster.stop("immediate");
    expect(await node.end()).toEqual({ code: 1, signal: null });
    expect(node.stderr).toMatch(/^tidemill: [^\n]+\n$/);
  });
});

describe("a start of the embedded PostgreSQL", () => {
  test("a start of the embedded PostgreSQL says so when an ordinary user may not write the data directory", async ({ stage }) => {
    const asRoot = process.geteuid?.() === 0;
    const { uid, gid } = asRoot ? chooseUnprivileged(await readAccounts()) : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const locked = path.join(stage.directory(), "locked");
    mkdirSync(locked);
    chmodSync(locked, 0o555);
    for (const dataDir of [locked, path.join(locked, "data")]) {
      const line = await refusal(stage, { TIDEMILL_DATA_DIR: dataDir }, asRoot ? { uid, gid } : undefined);
      expect(line).toContain(`The data directory ${dataDir} cannot be written`);
      expect(line).toContain("TIDEMILL_DATA_DIR");
      expect(await hasPostgres(dataDir)).toBe(false);
    }
  });

  test.for(["SIGTERM", "SIGHUP"] as const)(
    "a start of the embedded PostgreSQL that is broken off by %s leaves none running",
    async (signal, { stage }) => {
      const dataDir = stage.dataDir();
      const node = stage.start({ TIDEMILL_DATA_DIR: dataDir });
      await until(() => hasPostgres(dataDir), "PostgreSQL to begin");
      node.signal(signal);
      expect(await node.end()).toEqual({ code: 0, signal: null });
      expect(await hasPostgres(dataDir)).toBe(false);
    },
  );
});

/** Requires a password from a role, as a database on another machine would. */
async function asksForPasswords(cluster: Cluster, role: string): Promise<void> {
  writeFileSync(cluster.hba, `local all ${role} scram-sha-256\n${readFileSync(cluster.hba, "utf8")}`);
  await cluster.query("select pg_reload_conf()");
  const refuses = async () => {
    const client = new pg.Client(cluster.url({ user: role, password: "wrong" }));
    client.on("error", () => {});
    return client.connect().then(
      () => client.end().then(() => false),
      () => true,
    );
  };
  await until(refuses, "PostgreSQL to ask for passwords");
}

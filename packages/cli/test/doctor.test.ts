import { once } from "node:events";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { DatabaseFacts } from "@tidemill/server";
import { expect } from "vitest";
import { test } from "../../server/test/harness/stage.ts";
import { judgeConnections, judgeDatabase, judgeDisk, judgeEncryption, judgeMasterKey } from "../src/doctor/findings.ts";
import { runHere } from "./run-here.ts";

const GOOD: DatabaseFacts = {
  version: "18.4",
  version_number: 180_004,
  fsync: true,
  full_page_writes: true,
  encoding: "UTF8",
  is_standby: false,
  is_read_only: false,
  is_encrypted: false,
  may_create: true,
  now_ms: 1_000_000,
};

const faults = (facts: Partial<DatabaseFacts>): string[] =>
  judgeDatabase({ ...GOOD, ...facts }, 1_000_000).flatMap(({ check, status }) => (status === "ok" ? [] : [`${check}: ${status}`]));

test.for([
  [{}, []],
  [{ version_number: 140_010 }, ["database version: failed"]],
  [{ fsync: false }, ["database durability: failed"]],
  [{ full_page_writes: false }, ["database durability: failed"]],
  [{ encoding: "SQL_ASCII" }, ["database encoding: failed"]],
  [{ is_standby: true, is_read_only: true }, ["database role: failed"]],
  [{ is_read_only: true }, ["database role: failed"]],
  [{ may_create: false }, ["database privileges: failed"]],
  [{ now_ms: 995_000 }, ["clock: warning"]],
  [{ now_ms: 0 }, ["clock: failed"]],
] as const)("a database with %j", ([facts, expected]) => expect(faults(facts)).toEqual(expected));

test.for([
  [97, 20, 32, 0, "ok", /^The role "tm" may have 32 connections \(its CONNECTION LIMIT\), and 0 are in use; each node opens at most 24\.$/],
  [97, 0, 32, 20, "warning", /, and 20 are in use: a node that starts now gets 12 of the 24 /],
  [97, 0, 32, 26, "failed", /, and 26 are in use\. A node needs at least 7\./],
  [
    97,
    0,
    12,
    0,
    "failed",
    /^The role "tm" may have 12 connections .*but a node opens up to 24 .* TIDEMILL_DATABASE_CONNECTIONS to 11 or fewer\.$/,
  ],
  [97, 80, 90, 0, "warning", /^This user may have 97 connections .* gets 17 of the 24/],
] as const)(
  "connections: the server has %i of which %i are used, the role %i of which %i are used: %s",
  ([max, used, roleMax, roleUsed, status, message]) =>
    expect(
      judgeConnections(
        [
          { what: `The role "tm" may have ${roleMax} connections (its CONNECTION LIMIT)`, max: roleMax, used: roleUsed },
          { what: `This user may have ${max} connections (max_connections is 100 less 3 reserved ones)`, max, used },
        ],
        24,
      ),
    ).toEqual({ check: "database connections", status, message: expect.stringMatching(message) }),
);

test("a full disk and a missing master key are failures", () => {
  expect(judgeDisk("/data", 1024)).toMatchObject({ status: "failed", message: expect.stringContaining("A node needs 256 MiB") });
  expect(judgeMasterKey(["a"], ["b"])).toMatchObject({ status: "failed", message: expect.stringContaining("b") });
});

test.for([
  ["db.example.com", false, "warning"],
  ["10.0.0.5", false, "warning"],
  ["db.example.com", true, "ok"],
  ["127.0.0.1", false, "ok"],
  ["[::1]", false, "ok"],
  ["localhost", false, "ok"],
  ["/run/postgresql", false, "ok"],
  [null, false, "ok"],
] as const)("a database at %s, encrypted: %s", ([host, isEncrypted, expected]) =>
  expect(judgeEncryption(host, isEncrypted).status).toBe(expected),
);

test("doctor finds a running node, its database and its master key in order", async ({ stage }) => {
  const { url } = await stage.database();
  const node = await stage.node({ DATABASE_URL: url });
  const settings = { DATABASE_URL: url, TIDEMILL_PORT: new URL(node.url).port, TIDEMILL_INTERNAL_PORT: new URL(node.internalUrl).port };
  const { code, stdout } = await stage.run(["doctor", "--json"], settings);
  const found = JSON.parse(stdout) as { check: string; status: string; message: string }[];
  expect(found.filter(({ check }) => check.endsWith("port")).map(({ message }) => message)).toEqual([
    expect.stringContaining("running node"),
    expect.stringContaining("running node"),
  ]);
  expect(found.find(({ check }) => check === "database version")).toMatchObject({ status: "ok" });
  // No secret was stored, but the node's key is current, and this configuration does not have it.
  expect({ code, key: found.find(({ check }) => check === "master key")?.status }).toEqual({ code: 1, key: "failed" });
});

test("doctor says that another program has the port, and starts nothing in an empty directory", async ({ stage }) => {
  const server = createServer().listen(0, "127.0.0.1");
  stage.finally(async () => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dataDir = stage.dataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_PORT: String(port), TIDEMILL_INTERNAL_PORT: "0" };
  const { code, stdout } = await runHere(["doctor"], settings);
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(`Port ${port} is used by another program.`) });
  expect(existsSync(dataDir)).toBe(false);
});

test("config and doctor name a misspelt setting and the one that was probably meant", async ({ stage }) => {
  const settings = { TIDEMILL_PROT: "1", TIDEMILL_DATA_DIR: stage.dataDir(), TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" };
  const says = "TIDEMILL_PROT is not a setting and has no effect. Did you mean TIDEMILL_PORT?";
  const config = await runHere(["config", "--json"], settings);
  expect(config.stderr).toContain(`tidemill: ${says}`);
  expect(JSON.parse(config.stdout)).toContainEqual(expect.objectContaining({ name: "TIDEMILL_PORT or PORT" }));
  expect((await runHere(["doctor"], settings)).stdout).toContain(`settings\twarning\t${says}`);
});

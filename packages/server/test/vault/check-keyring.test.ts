import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { Client } from "../harness/client.ts";
import { KEY } from "../harness/process.ts";
import { MASTER_KEY } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";
import { VaultFixture } from "../harness/vault.ts";

const ANOTHER_KEY = "f".repeat(64);

const refusal = (...says: (string | RegExp)[]) =>
  expect.objectContaining({
    code: "MASTER_KEY_UNUSABLE",
    message: expect.toSatisfy((text: string) => says.every((one) => (typeof one === "string" ? text.includes(one) : one.test(text)))),
  });

/** Starts a node process that must not start, and answers the one line that it says. */
async function lineOf(stage: Stage, settings: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await stage.run(["up"], { TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0", ...settings });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^tidemill: [^\n]+\n$/);
  return stderr;
}

describe("the first start", () => {
  test("the first start makes the key file in the data directory, beside the database's folder, and the next ones use it", async ({
    stage,
  }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.dataDir(), TIDEMILL_MASTER_KEY: "" };
    const file = path.join(settings.TIDEMILL_DATA_DIR, "master.key");
    const first = await stage.node(settings);
    const text = readFileSync(file, "utf8");
    expect([(statSync(file).mode & 0o777).toString(8), text]).toEqual(["600", expect.stringMatching(/^[A-Za-z0-9+/]{43}=\n$/)]);
    const database = readdirSync(path.join(settings.TIDEMILL_DATA_DIR, "postgres"), { recursive: true, encoding: "utf8" });
    expect(database.filter((name) => name.includes("master.key"))).toEqual([]);
    expect(first.stdout + first.stderr).not.toContain(text.trim());
    await first.client.ok("POST", "/v1/secrets", { name: "KEPT", value: "kept" });
    first.signal("SIGTERM");
    await first.end();
    const second = await stage.node(settings);
    expect(await second.client.ok("PATCH", "/v1/secrets/KEPT", { value: "changed" })).toMatchObject({ name: "KEPT" });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("the first start takes a key that is given, and makes no file", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await vault.node({ given: MASTER_KEY });
    expect(existsSync(vault.file)).toBe(false);
    expect((await vault.keys()).vault).toMatch(/^[0-9a-f]{16}$/);
  });

  test("the first start takes the first of two keys that are given", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node({ given: MASTER_KEY })).stop();
    const { vault: alone } = await vault.keys();
    const other = await VaultFixture.create(stage);
    await other.node({ given: `${MASTER_KEY}, ${ANOTHER_KEY}` });
    expect((await other.keys()).vault).toBe(alone);
  });

  test("the first start of two nodes with files of their own at the same moment succeeds for one, and leaves no file of the other", async ({
    stage,
  }) => {
    for (let round = 0; round < 3; round += 1) {
      const vault = await VaultFixture.create(stage);
      const files = [`${vault.file}.one`, `${vault.file}.other`];
      const outcomes = await Promise.allSettled(files.map((file) => vault.node({ file })));
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const refused = outcomes.findIndex(({ status }) => status === "rejected");
      expect(outcomes[refused]).toMatchObject({ reason: refusal("there is none") });
      expect(files.map((file) => existsSync(file))).toEqual([refused === 1, refused === 0]);
    }
  });

  test("the first start of two nodes with one file at the same moment succeeds for both", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await Promise.all([vault.node(), vault.node()]);
    expect((await vault.keyring()).ids).toEqual([(await vault.keys()).vault]);
  });
});

describe("a start is refused", () => {
  test("a start is refused with another key than the one that secrets are encrypted under", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    const node = await vault.node();
    await vault.fill(1);
    await node.stop();
    const { vault: needed = "" } = await vault.keys();
    await expect(vault.node({ given: ANOTHER_KEY })).rejects.toEqual(refusal(needed, "TIDEMILL_MASTER_KEY"));
    writeFileSync(`${vault.file}.wrong`, ANOTHER_KEY, { mode: 0o600 });
    await expect(vault.node({ file: `${vault.file}.wrong` })).rejects.toEqual(refusal(needed, `${vault.file}.wrong`));
    expect(await vault.unreadable()).toEqual([]);
  });

  test("a start is refused without the key that secrets are encrypted under, and no new one is made", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    const node = await vault.node();
    await vault.fill(1);
    await node.stop();
    renameSync(vault.file, `${vault.file}.lost`);
    await expect(vault.node()).rejects.toEqual(refusal("there is none", vault.file));
    expect(existsSync(vault.file)).toBe(false);
    renameSync(`${vault.file}.lost`, vault.file);
    await vault.node();
  });

  test("a start is refused with one of two keys that secrets are encrypted under", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node()).stop();
    await vault.fill(2);
    await vault.database.query("update secret set master_key_id = 'ffffffffffffffff' where name = 'SECRET_2'");
    await expect(vault.node()).rejects.toEqual(refusal("ffffffffffffffff"));
  });

  test("a start is refused with another key than nodes that are alive have, though there is no secret", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    const node = await vault.node();
    await expect(vault.node({ given: ANOTHER_KEY })).rejects.toEqual(refusal("TIDEMILL_MASTER_KEY"));
    await expect(vault.node({ file: `${vault.file}.new` })).rejects.toEqual(refusal("there is none"));
    expect(existsSync(`${vault.file}.new`)).toBe(false);
    await node.stop();
    await vault.node({ given: ANOTHER_KEY });
  });

  test("a start is refused in one line, with nothing of a key in it", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, TIDEMILL_DATA_DIR: stage.directory() };
    const node = await stage.node(settings);
    await new Client(node.url, KEY).ok("POST", "/v1/secrets", { name: "KEPT", value: "kept" });
    node.signal("SIGTERM");
    await node.end();
    const line = await lineOf(stage, { ...settings, TIDEMILL_MASTER_KEY: ANOTHER_KEY });
    expect(line).toMatch(/needs the master key [0-9a-f]{16}.*TIDEMILL_MASTER_KEY/);
    for (const key of [MASTER_KEY, ANOTHER_KEY]) expect(line).not.toContain(key.slice(0, 8));
    const file = path.join(settings.TIDEMILL_DATA_DIR, "master.key");
    writeFileSync(file, MASTER_KEY, { mode: 0o600 });
    chmodSync(file, 0o644);
    expect(await lineOf(stage, settings)).toContain(`chmod 600 ${file}`);
    expect(await lineOf(stage, { ...settings, TIDEMILL_MASTER_KEY: "unguessable" })).toMatch(
      /TIDEMILL_MASTER_KEY must be(?!.*unguessable)/,
    );
    chmodSync(file, 0o600);
    await stage.node({ ...settings, TIDEMILL_MASTER_KEY: "" });
  });
});

describe("a start without a secret and without another node", () => {
  test("any key will do without a secret and without another node: it is the vault's from then on", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node()).stop();
    const before = await vault.keys();
    const service = await vault.service(await vault.node({ given: ANOTHER_KEY }));
    expect((await vault.keys()).vault).not.toBe(before.vault);
    expect((await service.api("POST", "/v1/secrets", { name: "NEW", value: "new" })).status).toBe(201);
  });

  test("a lost key file is made anew without a secret and without another node", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node()).stop();
    rmSync(vault.file);
    await vault.node();
    expect((await vault.keyring()).ids).toEqual([(await vault.keys()).vault]);
  });
});

test("commands that are not about the vault need no master key, and make none", async ({ stage }) => {
  const [database, directory] = [await stage.database(), stage.directory()];
  const file = path.join(directory, "master.key");
  const settings = { DATABASE_URL: database.url, TIDEMILL_DATA_DIR: directory };
  for (const args of [["workspace", "create", "Acme"], ["workspace", "list"], ["audit", "verify"], ["config"]])
    expect([args, (await stage.run(args, settings)).code, existsSync(file)]).toEqual([args, 0, false]);
  writeFileSync(file, "no key", { mode: 0o644 });
  expect((await stage.run(["workspace", "list"], settings)).code).toBe(0);
});

test("a node without the vault's key takes no secret, and looks at its key file before it says so", async ({ stage }) => {
  const vault = await VaultFixture.create(stage);
  const service = await vault.service(await vault.node());
  await service.ok("POST", "/v1/secrets", { name: "KEPT", value: "KEPT" });
  await vault.database.query("update vault set master_key_id = 'ffffffffffffffff'");
  for (const [method, where, body] of [
    ["POST", "/v1/secrets", { name: "NEW", value: "new" }],
    ["PATCH", "/v1/secrets/KEPT", { value: "new" }],
  ] as const) {
    const { status, headers } = await service.api(method, where, body);
    expect([method, status, headers.get("retry-after")]).toEqual([method, 503, "1"]);
  }
  expect(await vault.unreadable()).toEqual([]);
  writeFileSync(`${vault.file}.next`, ANOTHER_KEY, { mode: 0o600 });
  const [, next] = (await vault.keyring()).ids;
  await vault.database.query("update vault set master_key_id = $1", [next]);
  await service.ok("POST", "/v1/secrets", { name: "NEW", value: "NEW" });
  expect([await vault.unreadable(), (await vault.keys()).wrapping]).toEqual([[], expect.arrayContaining([next])]);
});

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { KEY, type NodeProcess } from "../../server/test/harness/process.ts";
import { MASTER_KEY, until } from "../../server/test/harness/service.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";
import { VaultFixture } from "../../server/test/harness/vault.ts";

const ANOTHER_KEY = "f".repeat(64);
const ID = expect.stringMatching(/^[0-9a-f]{16}$/);

/** Runs a command that must succeed. Returns its JSON output. */
async function json(stage: Stage, args: string[], settings: Record<string, string>) {
  const { code, stdout, stderr } = await stage.run([...args, "--json"], settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** A queue whose callbacks carry the secret TOKEN. Counts the delivered jobs by the value that they carried. */
async function templated(stage: Stage, node: NodeProcess) {
  const client = new Client(node.url, KEY);
  const handler = await stage.handler();
  await client.ok("POST", "/v1/secrets", { name: "TOKEN", value: "first" });
  const queue = await client.queue("mails", handler.url, { callback_headers: { "x-token": "${{ secrets.TOKEN }}" } });
  return {
    client,
    deliver: async () => {
      const before = handler.received.length;
      await client.enqueue(queue, { attempts: 1 });
      await until(() => handler.received.length > before, "the delivery");
      return handler.received.at(-1)?.headers["x-token"];
    },
  };
}

describe("tidemill vault rotate-master-key", () => {
  test("tidemill vault rotate-master-key exchanges the key of running nodes, who go on delivering", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir(), TIDEMILL_MASTER_KEY: "" };
    const file = path.join(settings.TIDEMILL_DATA_DIR, "master.key");
    const nodes = [await stage.node(settings), await stage.node(settings)];
    const { deliver, client } = await templated(stage, nodes[0] as NodeProcess);
    expect(await deliver()).toBe("first");
    const { keys } = await json(stage, ["vault", "status"], settings);
    expect(keys).toEqual([{ master_key: ID, current: true, given: true, secrets: 1 }]);
    const before = readFileSync(file, "utf8");

    const rotation = await json(stage, ["vault", "rotate-master-key"], settings);
    const from = keys[0].master_key;
    expect(rotation).toEqual({ from, to: ID, rewrapped: 1, unreadable: [], kept: `${file}.${from}` });
    expect(await deliver()).toBe("first");
    await client.ok("PATCH", "/v1/secrets/TOKEN", { value: "second" });
    expect(await deliver()).toBe("second");
    expect(await json(stage, ["vault", "status"], settings)).toEqual({
      file,
      keys: [{ master_key: rotation.to, current: true, given: true, secrets: 1 }],
    });
    expect(readFileSync(`${file}.${from}`, "utf8")).toBe(before);

    const { stdout } = await stage.run(["vault", "rotate-master-key"], settings);
    expect(stdout).toMatch(new RegExp(`is now in ${file}\\.${rotation.to}\\.\nBackups .* need the old key`));
    for (const node of nodes) node.signal("SIGTERM");
    for (const node of nodes) expect(await node.end()).toEqual({ code: 0, signal: null });
    await stage.node(settings);
  });

  test("tidemill vault rotate-master-key works while no node runs", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir(), TIDEMILL_MASTER_KEY: "" };
    const node = await stage.node(settings);
    const { deliver } = await templated(stage, node);
    node.signal("SIGTERM");
    await node.end();
    expect(await json(stage, ["vault", "rotate-master-key"], settings)).toMatchObject({ rewrapped: 1 });
    await stage.node({ ...settings, TIDEMILL_PORT: new URL(node.url).port });
    expect(await deliver()).toBe("first");
  });

  test("tidemill vault rotate-master-key leads from the first key of TIDEMILL_MASTER_KEY to the second", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, TIDEMILL_DATA_DIR: stage.directory() };
    const node = await stage.node(settings);
    await node.client.ok("POST", "/v1/secrets", { name: "KEPT", value: "kept" });
    node.signal("SIGTERM");
    await node.end();
    const both = { ...settings, TIDEMILL_MASTER_KEY: `${MASTER_KEY},${ANOTHER_KEY}` };
    await stage.node(both);
    const { code, stdout, stderr } = await stage.run(["vault", "rotate-master-key"], both);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/Secrets rewrapped: 1\.\nRemove the old key, [0-9a-f]{16}, from TIDEMILL_MASTER_KEY/);
    for (const key of [MASTER_KEY, ANOTHER_KEY]) expect(stdout).not.toContain(key.slice(0, 8));
  });

  test("tidemill vault rotate-master-key says in one line what is wrong", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, TIDEMILL_DATA_DIR: stage.directory(), TIDEMILL_MASTER_KEY: MASTER_KEY };
    const lineOf = async (more: Record<string, string> = {}) => {
      const { code, stdout, stderr } = await stage.run(["vault", "rotate-master-key"], { ...settings, ...more });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^tidemill: [^\n]+\n$/);
      return stderr;
    };
    expect(await lineOf()).toContain("nothing to rotate");
    await stage.node(settings);
    expect(await lineOf()).toContain("TIDEMILL_MASTER_KEY=<old>,<new>");
    expect(await lineOf({ TIDEMILL_MASTER_KEY: "" })).toContain("There is no key file");
  });

  test("tidemill vault rotate-master-key names the secrets that do not open, and ends with exit code 1", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node()).stop();
    await vault.fill(2);
    await vault.database.query("update secret set name = 'MOVED' where name = 'SECRET_1'");
    const settings = { DATABASE_URL: vault.database.url, TIDEMILL_MASTER_KEY_FILE: vault.file };
    const { code, stdout, stderr } = await stage.run(["vault", "rotate-master-key"], settings);
    expect(code).toBe(1);
    expect(stdout).toMatch(/Secrets rewrapped: 1\.\nSecrets not rewrapped: 1\. Keep the key/);
    expect(stderr).toMatch(/^tidemill: The secret MOVED of ws_\w{26} cannot be decrypted\. [^\n]+\n$/);
    expect(existsSync(`${vault.file}.next`)).toBe(true);
  });

  test("tidemill vault rotate-master-key finishes a rotation that was killed on the way", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    await (await vault.node()).stop();
    await vault.database.query(
      "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$",
    );
    await vault.fill(40);
    await vault.database.query("create trigger slow before update on secret for each row execute function slow()");
    const settings = { DATABASE_URL: vault.database.url, TIDEMILL_MASTER_KEY_FILE: vault.file };
    const { vault: from } = await vault.keys();
    const program = stage.program(["vault", "rotate-master-key"], settings);
    await until(async () => (await vault.keys()).vault !== from, "the vault to be locked with the new key");
    await program.kill();
    await vault.database.query("drop trigger slow on secret");
    expect([await vault.unreadable(), (await vault.keyring()).ids.length]).toEqual([[], 2]);
    await json(stage, ["vault", "rotate-master-key"], settings);
    const { ids } = await vault.keyring();
    expect([await vault.keys(), await vault.unreadable()]).toEqual([{ vault: ids[0], wrapping: ids }, []]);
  });
});

describe("settings that are secret", () => {
  const SECRETS = { TIDEMILL_MASTER_KEY: MASTER_KEY, TIDEMILL_ADMIN_TOKEN: "an-unguessable-token", TIDEMILL_BOOTSTRAP_KEY: KEY };

  test("a node's diagnostic report holds no secret setting, nor anything else of its environment", async ({ stage }) => {
    const directory = stage.directory();
    const database = await stage.database();
    const node = await stage.node({
      ...SECRETS,
      DATABASE_URL: database.url,
      TIDEMILL_DATA_DIR: directory,
      NODE_OPTIONS: `--report-on-signal --report-directory=${directory}`,
    });
    node.signal("SIGUSR2");
    const reports = () => readdirSync(directory).filter((name) => name.startsWith("report"));
    const whole = () => reports().some((name) => readFileSync(path.join(directory, name), "utf8").trimEnd().endsWith("}"));
    await until(whole, "the report");
    const text = readFileSync(path.join(directory, reports()[0] ?? ""), "utf8");
    expect(text).toContain("javascriptHeap");
    for (const secret of [...Object.values(SECRETS), database.url, "environmentVariables"]) expect(text).not.toContain(secret);
  });
});

test("a key file that others may read stops the start, and status too", async ({ stage }) => {
  const settings = { DATABASE_URL: (await stage.database()).url, TIDEMILL_DATA_DIR: stage.directory(), TIDEMILL_MASTER_KEY: "" };
  writeFileSync(path.join(settings.TIDEMILL_DATA_DIR, "master.key"), ANOTHER_KEY, { mode: 0o644 });
  for (const args of [["up"], ["vault", "status"]]) {
    const { code, stderr } = await stage.run(args, { ...settings, TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^tidemill: The master key file .* may be used by others \(mode 644\): chmod 600 .*\n$/),
    ]);
  }
});

describe("tidemill vault give-up", () => {
  test("lets nodes start again without a lost key, and its secrets are used when they have new values", async ({ stage }) => {
    const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir(), TIDEMILL_MASTER_KEY: "" };
    const file = path.join(settings.TIDEMILL_DATA_DIR, "master.key");
    const node = await stage.node(settings);
    const { client, deliver } = await templated(stage, node);
    const { keys } = await json(stage, ["vault", "status"], settings);
    const lost = keys[0].master_key;
    node.signal("SIGTERM");
    await node.end();
    renameSync(file, `${file}.lost`);
    const ports = { TIDEMILL_PORT: new URL(node.url).port, TIDEMILL_INTERNAL_PORT: "0" };
    const { code, stderr } = await stage.run(["up"], { ...settings, ...ports });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`If it is lost: tidemill vault give-up ${lost}\n`)]);

    const { to, unreadable } = await json(stage, ["vault", "give-up", lost], settings);
    expect(unreadable).toEqual([{ workspace: expect.stringMatching(/^ws_/), name: "TOKEN" }]);
    expect((await json(stage, ["vault", "status"], settings)).keys).toEqual([{ master_key: to, current: true, given: true, secrets: 1 }]);
    await stage.node({ ...settings, ...ports });
    const job = await client.enqueue("mails", { attempts: 1 });
    await until(async () => (await client.job("mails", job)).state === "failed", "the job to fail");
    expect((await client.job("mails", job)).last_error).toMatchObject({ code: "SECRET_UNREADABLE" });
    await client.ok("PATCH", "/v1/secrets/TOKEN", { value: "new", allowed_queues: null, allowed_hosts: null });
    expect(await deliver()).toBe("new");
  });

  test("changes nothing while a node is alive, for a key that is there, and for one that nothing needs", async ({ stage }) => {
    const vault = await VaultFixture.create(stage);
    const node = await vault.node();
    await vault.fill(1);
    const { vault: key = "" } = await vault.keys();
    const lineOf = async (id: string, file = `${vault.file}.other`) => {
      const { code, stderr } = await stage.run(["vault", "give-up", id], {
        DATABASE_URL: vault.database.url,
        TIDEMILL_MASTER_KEY_FILE: file,
      });
      expect([code, existsSync(`${vault.file}.other`)]).toEqual([1, false]);
      return stderr;
    };
    expect(await lineOf(key)).toContain("Stop them first.");
    await node.stop();
    expect(await lineOf(key, vault.file)).toContain("is not lost");
    expect(await lineOf("0123456789abcdef")).toContain("Nothing needs the master key 0123456789abcdef.");
    expect(await vault.unreadable()).toEqual([]);
    await vault.database.query("update secret set master_key_id = '0123456789abcdef'");
    expect(await lineOf("0123456789abcdef")).toContain(`The vault's key is ${key}, and this configuration does not have it.`);
    expect(await vault.keys()).toEqual({ vault: key, wrapping: ["0123456789abcdef"] });
  });
});

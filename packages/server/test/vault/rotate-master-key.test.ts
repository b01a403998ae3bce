import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { countNodesWithout, systemRandom } from "@tidemill/server";
import { describe, expect } from "vitest";
import type { Statement, Transactional } from "#kernel";
import { Keyring, type Rotation, rotateMasterKey } from "#vault";
import { VAULT_LOCK } from "../../src/vault/vault-store.ts";
import { Service, until } from "../harness/service.ts";
import { test as base } from "../harness/stage.ts";
import { VaultFixture } from "../harness/vault.ts";

const KEYS = ["0".repeat(64), "1".repeat(64), "2".repeat(64)] as const;

const test = base.extend("vault", ({ stage }) => VaultFixture.create(stage));

interface Parts {
  readonly database?: Transactional;
  readonly keyring?: Keyring;
  readonly notifyNodes?: () => Promise<void>;
}

/** Rotates as the command does; nodes are not told, and no time is let pass, unless `parts` does. */
async function rotate(
  vault: VaultFixture,
  { database = vault.engine, keyring, notifyNodes = async () => {} }: Parts = {},
): Promise<Rotation> {
  return rotateMasterKey({
    connection: { connectionString: vault.database.url },
    database,
    keyring: keyring ?? (await vault.keyring()),
    random: systemRandom,
    countNodesWithout,
    notifyNodes,
    sleep: async () => {},
  });
}

/** Lets the nodes check their keys, and waits until those that share the vault's file have read it. */
const notifyNodes = (vault: VaultFixture, nodes: number) => async () => {
  await vault.database.query("select pg_notify('tidemill_wake', 'masterKeyChanged')");
  const keyring = await vault.keyring();
  await until(async () => {
    const found = await vault.database.query(
      "select from lease join node on lease_id = id where expires_at > now() and master_key_ids @> $1",
      [keyring.ids],
    );
    return found.length === nodes;
  }, "the nodes to have the keys");
};

/** The vault of a database that a node has started on once. */
async function lockedVault(vault: VaultFixture): Promise<string> {
  await (await vault.node()).stop();
  return (await vault.keys()).vault as string;
}

/** The database, which fails after this many statements, as if the command were killed there. */
function dyingAfter(vault: VaultFixture, most: number): { database: Transactional; tell: () => Promise<void> } {
  let count = 0;
  const live = () => {
    count += 1;
    if (count > most) throw new Error("killed");
  };
  const dying = <Db extends { query(statement: Statement): Promise<{ rows: unknown[] }> }>(db: Db) => ({
    query: async (statement: Statement) => {
      live();
      return db.query(statement);
    },
  });
  return {
    database: { ...dying(vault.engine), transaction: (work) => vault.engine.transaction((tx) => work(dying(tx))) },
    tell: async () => live(),
  };
}

const lockWith = async ({ database }: VaultFixture, id: string): Promise<void> => {
  await database.query("update vault set master_key_id = $1", [id]);
};

/** Whether a statement on the vault's database waits for a lock. */
const isWaiting = async ({ database }: VaultFixture): Promise<boolean> =>
  (await database.query("select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")).length > 0;

describe("a rotation of the master key", () => {
  test("a rotation of the master key wraps every secret's key anew, in every workspace, and touches nothing else of it", async ({
    vault,
  }) => {
    const from = await lockedVault(vault);
    for (const count of [3, 600]) await vault.fill(count);
    const before = await vault.stored();
    const rotation = await rotate(vault);
    expect(rotation).toEqual({
      from,
      to: expect.stringMatching(/^[0-9a-f]{16}$/),
      rewrapped: 603,
      unreadable: [],
      kept: `${vault.file}.${from}`,
    });
    expect(rotation.to).not.toBe(from);
    expect(await vault.keys()).toEqual({ vault: rotation.to, wrapping: [rotation.to] });
    expect(await vault.unreadable()).toEqual([]);
    const without = (secrets: object[]) => secrets.map((secret) => ({ ...secret, wrapped_key: null, master_key_id: null }));
    expect(without(await vault.stored())).toEqual(without(before));
  });

  test("a rotation of the master key puts the new key into the key file, and keeps each beside", async ({ vault }) => {
    await lockedVault(vault);
    const text = readFileSync(vault.file, "utf8");
    const one = await rotate(vault);
    expect(readFileSync(`${vault.file}.${one.from}`, "utf8")).toBe(text);
    const two = await rotate(vault);
    expect(two.from).toBe(one.to);
    const kept = [one.from, one.to, two.to].map((id) => `master.key.${id}`);
    expect(readdirSync(path.dirname(vault.file)).sort()).toEqual(["master.key", ...kept.sort()]);
    expect((await vault.keyring()).ids).toEqual([two.to]);
    await vault.node();
  });

  test("a rotation of the master key waits until every node that is alive has the new key", async ({ vault }) => {
    const nodes = [await vault.node(), await vault.node()];
    await vault.fill(3);
    let looks = 0;
    const rotation = await rotate(vault, {
      notifyNodes: async () => {
        looks += 1;
        if (looks === 4) await notifyNodes(vault, 2)();
      },
    });
    expect([looks, rotation.rewrapped]).toEqual([5, 3]);
    for (const node of nodes) await node.stop();
  });

  test("a rotation of the master key changes nothing when nodes do not come to have the new key, and says how many; once they have, it goes on", async ({
    vault,
  }) => {
    const from = await lockedVault(vault);
    await vault.fill(3);
    const copy = path.join(vault.stage.directory(), "copy.key");
    writeFileSync(copy, readFileSync(vault.file), { mode: 0o600 });
    await vault.node();
    await vault.node({ file: copy });
    const before = await vault.stored();
    const refused = rotate(vault, { notifyNodes: notifyNodes(vault, 1) });
    await expect(refused).rejects.toMatchObject({
      code: "MASTER_KEY_UNUSABLE",
      message: expect.stringMatching(/^1 of the nodes.*nothing was changed/),
    });
    expect([await vault.stored(), await vault.keys()]).toEqual([before, { vault: from, wrapping: [from] }]);
    expect((await vault.keyring()).ids).toHaveLength(2);

    writeFileSync(`${copy}.next`, readFileSync(`${vault.file}.next`), { mode: 0o600 });
    const rotation = await rotate(vault, { notifyNodes: notifyNodes(vault, 2) });
    expect(rotation).toMatchObject({ from, rewrapped: 3 });
    await until(() => !existsSync(`${copy}.next`), "the other node's files to be settled");
    expect((await vault.keyring(copy)).ids).toEqual([rotation.to]);
  });

  test("a rotation of the master key waits for a node that is starting", async ({ vault }) => {
    const from = await lockedVault(vault);
    const starting = await vault.service(await vault.node());
    const client = await vault.stage.session(vault.database);
    await client.query("select pg_advisory_lock($1)", [VAULT_LOCK]);
    const rotating = rotate(vault, { notifyNodes: notifyNodes(vault, 1) });
    await until(() => isWaiting(vault), "the rotation to wait");
    expect((await vault.keys()).vault).toBe(from);
    await client.query("select pg_advisory_unlock_all()");
    expect(await rotating).toMatchObject({ from });
    expect((await starting.api("POST", "/v1/secrets", { name: "NEW", value: "new" })).status).toBe(201);
  });

  test("a rotation of the master key does not overtake who is about to use the old key", async ({ vault }) => {
    const from = await lockedVault(vault);
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vault.stage.finally(async () => released.resolve());
    const slow: Transactional = {
      query: (statement) => vault.engine.query(statement),
      transaction: (work) =>
        vault.engine.transaction((tx) =>
          work({
            query: async (statement) => {
              if (statement.text.includes("insert into secret")) {
                reached.resolve();
                await released.promise;
              }
              return tx.query(statement);
            },
          }),
        ),
    };
    const creating = vault.fill(1, slow);
    await reached.promise;
    const rotating = rotate(vault);
    await until(() => isWaiting(vault), "the rotation to wait");
    released.resolve();
    await creating;
    expect(await rotating).toMatchObject({ from, rewrapped: 1 });
    expect(await vault.unreadable()).toEqual([]);
  });

  test("a rotation of the master key leaves a secret alone that is given another value while its key is being wrapped anew", async ({
    vault,
  }) => {
    const service = await vault.service(await vault.node());
    for (const name of ["ONE", "OTHER"]) await service.ok("POST", "/v1/secrets", { name, value: "old" });
    let patched = 0;
    const database: Transactional = {
      transaction: (work) => vault.engine.transaction(work),
      query: async (statement) => {
        if (statement.text.includes("update secret") && patched++ === 0) await service.ok("PATCH", "/v1/secrets/ONE", { value: "ONE" });
        return vault.engine.query(statement);
      },
    };
    const rotation = await rotate(vault, { database, notifyNodes: notifyNodes(vault, 1) });
    expect(rotation).toMatchObject({ rewrapped: 1, unreadable: [] });
    expect([patched > 0, await vault.unreadable()]).toEqual([true, ["OTHER"]]);
    expect((await vault.keys()).wrapping).toEqual([rotation.to]);
  });

  test("a rotation of the master key names what does not open, keeps the old key for it, and ends when it is gone; then another may begin", async ({
    vault,
  }) => {
    const from = await lockedVault(vault);
    await vault.fill(3);
    await vault.database.query("update secret set wrapped_key = substring(wrapped_key for 20) where name = 'SECRET_2'");
    const rotation = await rotate(vault);
    const unreadable = [{ workspace: expect.stringMatching(/^ws_/), name: "SECRET_2" }];
    expect(rotation).toMatchObject({ from, rewrapped: 2, unreadable, kept: null });
    expect((await vault.keyring()).ids).toEqual([from, rotation.to]);
    expect(await vault.unreadable()).toEqual(["SECRET_2"]);
    expect(await rotate(vault)).toMatchObject({ from, to: rotation.to, rewrapped: 0, unreadable });
    await vault.database.query("delete from secret where name = 'SECRET_2'");
    expect(await rotate(vault)).toMatchObject({ from, to: rotation.to, unreadable: [], kept: `${vault.file}.${from}` });
    expect((await vault.keyring()).ids).toEqual([rotation.to]);
    expect(await rotate(vault)).toMatchObject({ from: rotation.to, rewrapped: 2, unreadable: [] });
  });

  test("a rotation of the master key is finished, and another may begin, when what did not open was given another value", async ({
    vault,
  }) => {
    const node = await vault.node();
    const service = await vault.service(node);
    const tell = notifyNodes(vault, 1);
    await service.ok("POST", "/v1/secrets", { name: "BROKEN", value: "old" });
    await vault.database.query("update secret set wrapped_key = substring(wrapped_key for 20)");
    const { from, to, unreadable } = await rotate(vault, { notifyNodes: tell });
    expect(unreadable).toHaveLength(1);
    // A notified node may read the key file later than this, and finish the rotation by itself. Other nodes do not.
    await node.stop();
    const untold = new Service(await vault.node(), vault.database, vault.clock, { id: service.workspaceId, key: service.key });
    await untold.ok("PATCH", "/v1/secrets/BROKEN", { value: "BROKEN", allowed_queues: null, allowed_hosts: null });
    expect(await rotate(vault, { notifyNodes: async () => {} })).toMatchObject({ from, to, unreadable: [] });
    expect(await rotate(vault, { notifyNodes: tell })).toMatchObject({ from: to, rewrapped: 1, unreadable: [] });
    expect(await vault.unreadable()).toEqual([]);
  });

  test("the second of two rotations that are begun at the same time waits, and leads to the same key", async ({ vault }) => {
    const from = await lockedVault(vault);
    await vault.fill(3);
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    vault.stage.finally(async () => released.resolve());
    const first = rotate(vault, {
      notifyNodes: () => {
        reached.resolve();
        return released.promise;
      },
    });
    await reached.promise;
    const second = rotate(vault);
    await until(() => isWaiting(vault), "the second rotation to wait");
    released.resolve();
    const { to } = await first;
    expect(await second).toEqual({ from, to, rewrapped: 0, unreadable: [], kept: `${vault.file}.${from}` });
    expect([await vault.keys(), (await vault.keyring()).ids]).toEqual([{ vault: to, wrapping: [to] }, [to]]);
  });

  test("a rotation of the master key is refused when the vault comes to be locked with another key before its own, and wraps nothing by that", async ({
    vault,
  }) => {
    const from = await lockedVault(vault);
    await vault.fill(3);
    const changed = rotate(vault, { notifyNodes: () => lockWith(vault, "ffffffffffffffff") });
    await expect(changed).rejects.toMatchObject({
      code: "MASTER_KEY_UNUSABLE",
      message: expect.stringContaining("another key in the meantime"),
    });
    expect(await vault.keys()).toEqual({ vault: "ffffffffffffffff", wrapping: [from] });
  });

  test("a rotation of the master key wraps nothing more once the vault is locked with yet another key", async ({ vault }) => {
    const from = await lockedVault(vault);
    await vault.fill(3);
    const database: Transactional = {
      transaction: (work) => vault.engine.transaction(work),
      query: async (statement) => {
        if (statement.text.includes("update secret")) await lockWith(vault, "ffffffffffffffff");
        return vault.engine.query(statement);
      },
    };
    await expect(rotate(vault, { database })).rejects.toMatchObject({ code: "MASTER_KEY_UNUSABLE" });
    expect(await vault.keys()).toEqual({ vault: "ffffffffffffffff", wrapping: [from] });
  });

  test("a rotation of the master key that is broken off anywhere leaves every secret readable to a node that starts, and is finished by being run again", async ({
    vault,
  }) => {
    await lockedVault(vault);
    await vault.fill(501);
    let whole = false;
    for (let most = 0; !whole; most += 1) {
      const { database, tell } = dyingAfter(vault, most);
      const before = (await vault.keys()).vault;
      whole = await rotate(vault, { database, notifyNodes: tell }).then(
        () => true,
        (error: Error) => {
          if (error.message !== "killed") throw error;
          return false;
        },
      );
      expect([most, await vault.unreadable()]).toEqual([most, []]);
      const changed = (await vault.keys()).vault !== before;
      const { to } = await rotate(vault);
      expect([most, await vault.keys(), (await vault.keyring()).ids]).toEqual([most, { vault: to, wrapping: [to] }, [to]]);
      if (changed && !whole) expect([most, to !== before]).toEqual([most, true]);
      expect(most).toBeLessThan(40);
    }
  });

  test("a rotation of the master key that was broken off before its files were settled is finished by the next start of a node", async ({
    vault,
  }) => {
    await lockedVault(vault);
    await vault.fill(1);
    const [old, next] = [readFileSync(vault.file), `${vault.file}.next`];
    const { to, from } = await rotate(vault);
    writeFileSync(next, readFileSync(vault.file), { mode: 0o600 });
    writeFileSync(vault.file, old);
    rmSync(`${vault.file}.${from}`);
    await vault.node();
    expect([(await vault.keyring()).ids, existsSync(next), existsSync(`${vault.file}.${from}`)]).toEqual([[to], false, true]);
  });
});

describe("a rotation with keys in the environment", () => {
  const given = (...masterKeys: string[]) => Keyring.open({ masterKeys, masterKeyFile: null, dataDir: "/nowhere" });

  test("a rotation leads from the first to the second of two given keys, and back no more", async ({ vault }) => {
    await (await vault.node({ given: KEYS[0] })).stop();
    const ids = (await given(KEYS[0], KEYS[1])).ids;
    const nodes = [await vault.node({ given: `${KEYS[0]},${KEYS[1]}` }), await vault.node({ given: `${KEYS[0]},${KEYS[1]}` })];
    const service = await vault.service(nodes[0] as (typeof nodes)[0]);
    await service.ok("POST", "/v1/secrets", { name: "KEPT", value: "kept" });
    const rotation = await rotate(vault, { keyring: await given(KEYS[0], KEYS[1]) });
    expect(rotation).toEqual({ from: ids[0], to: ids[1], rewrapped: 1, unreadable: [], kept: null });
    // The second time, and for whoever gives the keys the wrong way round.
    await expect(rotate(vault, { keyring: await given(KEYS[0], KEYS[1]) })).rejects.toThrow("nothing was rotated");
    expect(await vault.keys()).toEqual({ vault: ids[1], wrapping: [ids[1]] });
    for (const node of nodes) await node.stop();
    await vault.node({ given: KEYS[1] });
  });

  test("no other rotation begins while a secret needs the key from before the last one", async ({ vault }) => {
    await (await vault.node({ given: KEYS[0] })).stop();
    const [first, second] = (await given(KEYS[0], KEYS[1])).ids;
    const service = await vault.service(await vault.node({ given: `${KEYS[0]},${KEYS[1]}` }));
    await service.ok("POST", "/v1/secrets", { name: "BROKEN", value: "broken" });
    await vault.database.query("update secret set wrapped_key = substring(wrapped_key for 20)");
    const unreadable = [{ workspace: expect.stringMatching(/^ws_/), name: "BROKEN" }];
    for (const keys of [[KEYS[0], KEYS[1]] as const, [KEYS[1], KEYS[2]] as const])
      expect(await rotate(vault, { keyring: await given(...keys) })).toMatchObject({ from: first, to: second, unreadable });
    expect(await vault.keys()).toEqual({ vault: second, wrapping: [first] });
  });

  test.for([[[KEYS[0]]], [[KEYS[0], KEYS[0]]], [[KEYS[0], KEYS[1], KEYS[2]]], [[KEYS[1], KEYS[2]]]] as const)(
    "a rotation is refused with other given keys than the old one and a new one",
    async ([keys], { vault }) => {
      await (await vault.node({ given: KEYS[0] })).stop();
      const before = await vault.keys();
      await expect(rotate(vault, { keyring: await given(...keys) })).rejects.toMatchObject({ code: "MASTER_KEY_UNUSABLE" });
      expect(await vault.keys()).toEqual(before);
    },
  );
});

describe("a rotation that is refused", () => {
  test("a rotation is refused before any node has started", async ({ vault }) => {
    await expect(rotate(vault)).rejects.toThrow("nothing to rotate");
    expect(existsSync(vault.file)).toBe(false);
  });

  test("a rotation is refused without the key file", async ({ vault }) => {
    await lockedVault(vault);
    rmSync(vault.file);
    await expect(rotate(vault)).rejects.toThrow(`There is no key file ${vault.file}`);
  });

  test("a rotation is refused with a key file that does not fit", async ({ vault }) => {
    const id = await lockedVault(vault);
    writeFileSync(vault.file, KEYS[0]);
    await expect(rotate(vault)).rejects.toThrow(id);
    expect(existsSync(`${vault.file}.next`)).toBe(false);
  });

  test("a rotation is refused when the next key is the same", async ({ vault }) => {
    await lockedVault(vault);
    writeFileSync(`${vault.file}.next`, readFileSync(vault.file), { mode: 0o600 });
    await expect(rotate(vault)).rejects.toThrow("holds the same key");
  });
});

/** Jobs whose callbacks carry a secret, in the header and in the payload. */
async function templatedQueue(
  service: Service,
): Promise<{ queue: string; received: { secret: unknown; payload: unknown; attempt: number }[] }> {
  await service.ok("POST", "/v1/secrets", { name: "TOKEN", value: "the value of the token" });
  const handler = await service.handler({ callback_headers: { "x-token": "${{ secrets.TOKEN }}" } });
  return {
    queue: handler.queue,
    get received() {
      return handler.received.map(({ headers, body }) => ({ secret: headers["x-token"], payload: body.payload, attempt: body.attempt }));
    },
  };
}

test("jobs with secrets are delivered by two nodes through rotation upon rotation without a failed attempt", async ({ vault }) => {
  const nodes = [await vault.node(), await vault.node()];
  const service = await vault.service(nodes[0] as (typeof nodes)[0]);
  await vault.fill(200);
  const target = await templatedQueue(service);
  let rotating = true;
  const rotations = (async () => {
    for (let round = 0; round < 3; round += 1) await rotate(vault, { notifyNodes: notifyNodes(vault, 2) });
    rotating = false;
  })();
  let jobs = 0;
  while (rotating || jobs < 200) {
    const batch = Array.from({ length: 20 }, () => ({ payload: "${{ secrets.TOKEN }}", attempts: 1 }));
    await service.ok("POST", `/v1/queues/${target.queue}/jobs/batch`, batch);
    jobs += batch.length;
    await until(() => target.received.length > jobs - 60, "deliveries to keep up");
  }
  await rotations;
  await service.untilIdle();
  expect((await service.ok("GET", `/v1/queues/${target.queue}`)).metrics).toMatchObject({ completed: jobs, failed: 0 });
  expect(new Set(target.received.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify({ secret: "the value of the token", payload: "the value of the token", attempt: 1 })]),
  );
  expect((await vault.keys()).wrapping).toHaveLength(1);
});

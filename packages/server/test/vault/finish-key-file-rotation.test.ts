import { readdirSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { systemRandom, type Transactional } from "#kernel";
import { finishKeyFileRotationLocked } from "../../src/vault/finish-key-file-rotation.ts";
import { makeKeyFile, promoteNextFile, readKeyFile } from "../../src/vault/key-file.ts";
import { makeMasterKey } from "../../src/vault/master-key.ts";
import { VAULT_LOCK } from "../../src/vault/vault-store.ts";
import { until } from "../harness/service.ts";
import { test as base } from "../harness/stage.ts";
import { VaultFixture } from "../harness/vault.ts";

type Step = () => Promise<unknown>;

/** What other processes do right before each call of the file system, call by call. */
const before = { open: [] as (Step | undefined)[], rename: [] as (Step | undefined)[] };

const { open, rename } = files;

/** Replaces these functions of the file system for every module that imports it. */
function replace(functions: Pick<typeof files, "open" | "rename">): void {
  Object.assign(files, functions);
  syncBuiltinESMExports();
}

beforeAll(() => {
  replace({
    open: async (...call) => {
      await before.open.shift()?.();
      return open(...call);
    },
    rename: async (...call) => {
      await before.rename.shift()?.();
      return rename(...call);
    },
  });
});

afterEach(() => {
  before.open.length = 0;
  before.rename.length = 0;
});

afterAll(() => replace({ open, rename }));

/** A vault whose rotation is finished in the database but not in its files, and what another process does to the files. */
async function unsettledVault(vault: VaultFixture) {
  const [old, next, later] = [makeMasterKey(systemRandom), makeMasterKey(systemRandom), makeMasterKey(systemRandom)];
  await makeKeyFile(vault.file, old);
  await makeKeyFile(`${vault.file}.next`, next);
  await (await vault.node({ given: next.key.export().toString("base64") })).stop();
  return {
    vault,
    ids: { old: old.id, next: next.id, later: later.id },
    promote: () => promoteNextFile(vault.file, old, next),
    /** The files are finished. The next rotation has begun and was interrupted. */
    goOn: async () => {
      await promoteNextFile(vault.file, old, next);
      await makeKeyFile(`${vault.file}.next`, later);
    },
    /** All keys that some file holds. */
    held: async () => {
      const directory = path.dirname(vault.file);
      const keys = await Promise.all(readdirSync(directory).map((name) => readKeyFile(path.join(directory, name))));
      return new Set(keys.map((key) => key?.id));
    },
  };
}

const test = base.extend("unsettled", async ({ stage }) => unsettledVault(await VaultFixture.create(stage)));

test("the next key takes the place of the old one, once no secret needs that", async ({ unsettled: { vault, ids } }) => {
  await finishKeyFileRotationLocked(vault.engine, await vault.keyring());
  expect((await vault.keyring()).ids).toEqual([ids.next]);
});

test("files are settled under the vault's lock, as they are then", async ({ unsettled: { vault, ids, goOn } }) => {
  const other = await vault.stage.session(vault.database);
  await other.query("select pg_advisory_lock($1)", [VAULT_LOCK]);
  const settling = finishKeyFileRotationLocked(vault.engine, await vault.keyring());
  await until(
    async () =>
      (await vault.database.query("select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'")).length >
      0,
    "the lock to be waited for",
  );
  await goOn();
  await other.query("select pg_advisory_unlock_all()");
  await settling;
  expect((await vault.keyring()).ids).toEqual([ids.next, ids.later]);
});

test("a process that has lost the lock on the way moves nothing that has changed", async ({ unsettled: { vault, ids, goOn } }) => {
  const losing: Transactional = {
    query: (statement) => vault.engine.query(statement),
    transaction: (work) =>
      vault.engine.transaction((tx) =>
        work({
          query: async (statement) => {
            const found = await tx.query(statement);
            if (statement.text.includes("from wrapping")) await goOn();
            return found;
          },
        }),
      ),
  };
  await finishKeyFileRotationLocked(losing, await vault.keyring());
  expect((await vault.keyring()).ids).toEqual([ids.next, ids.later]);
});

test("a process that loses the lock right before the move does not put a key over the only copy of another", async ({ unsettled }) => {
  const { vault, ids, goOn, held } = unsettled;
  before.rename.push(goOn);
  await finishKeyFileRotationLocked(vault.engine, await vault.keyring());
  expect(await held()).toEqual(new Set([ids.old, ids.next, ids.later]));
});

test("a key is not moved when the place where another would be kept holds something else", async ({ unsettled: { vault, ids } }) => {
  await makeKeyFile(`${vault.file}.${ids.old}`, makeMasterKey(systemRandom));
  await expect(finishKeyFileRotationLocked(vault.engine, await vault.keyring())).rejects.toThrow("holds another key than its name says");
  expect((await vault.keyring()).ids).toEqual([ids.old, ids.next]);
});

test.for([0, 1])(
  "a keyring that is opened while files are settled has the next key, when that is before its read %i",
  async (read, { unsettled }) => {
    const { vault, ids, promote } = unsettled;
    const promoting = async () => {
      before.open.length = 0;
      await promote();
    };
    before.open.push(...Array.from({ length: read }, () => undefined), promoting);
    expect((await vault.keyring()).ids).toContain(ids.next);
    expect(before.open).toEqual([]);
  },
);

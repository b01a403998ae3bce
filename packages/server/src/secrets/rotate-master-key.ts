import type { Db, Random, Transactional } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import { rewrapKey, type SecretIdentity, UnreadableSecretError } from "./envelope.ts";
import { settleKeyFile } from "./fit.ts";
import { keptAs } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { nextMasterKey } from "./next-master-key.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { changeVaultKey, findVaultKey, holdVaultLock, listToRewrapAcrossWorkspaces, rewrapAcrossWorkspaces } from "./vault-store.ts";

export interface RotationOptions {
  readonly database: Transactional;
  readonly keyring: Keyring;
  readonly random: Random;
  /** How many nodes are alive that have not got that key. */
  readonly countNodesWithout: (db: Db, masterKeyId: string) => Promise<number>;
  /** Has all nodes look at their keys again. */
  readonly tellNodes: () => Promise<void>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** What a rotation came to. */
export interface Rotation {
  /** Ids of the old key and of the new one. */
  readonly from: string;
  readonly to: string;
  readonly rewrapped: number;
  /** Secrets that did not open, whose old key stays where it was. */
  readonly unreadable: readonly { readonly workspace: string; readonly name: string }[];
  /** The file in which the old key is kept; null when it is not kept in one. */
  readonly kept: string | null;
}

interface Pass {
  readonly rewrapped: number;
  readonly unreadable: readonly SecretIdentity[];
}

const LOOK_EVERY_MS = 1_000;
const MOST_LOOKS = 30;
const PAGE = 500;

/**
 * Locks the vault with another master key and wraps every data key anew, under load. Broken off at any point, it is finished by
 * being run again.
 *
 * @throws {VaultKeyError} when there is no other key, or nodes do not come to have it; then nothing has changed
 */
export async function rotateMasterKey(options: RotationOptions): Promise<Rotation> {
  const { database, keyring, random, tellNodes } = options;
  const current = await findVaultKey(database);
  if (current === null) throw new VaultKeyError("No node has started on this database yet: there is nothing to rotate.");
  const to = await nextMasterKey(keyring, current, random);
  await tellNodes();
  if (to !== current) await changeOnceShared(options, current, to);
  const { rewrapped, unreadable } = await rewrapAll(options, to);
  await settleKeyFile(database, keyring);
  await tellNodes();
  const from = keyring.ids.find((id) => id !== to) ?? current;
  const kept = keyring.file === null || unreadable.length > 0 ? null : keptAs(keyring.file, from);
  return {
    from,
    to,
    rewrapped,
    kept,
    unreadable: unreadable.map(({ workspace_id, name }) => ({ workspace: showWorkspaceId(workspace_id), name })),
  };
}

/** A node that starts meanwhile is waited for: it has the vault's lock until it counts as alive. */
async function changeOnceShared(
  { database, countNodesWithout, tellNodes, sleep }: RotationOptions,
  from: string,
  to: string,
): Promise<void> {
  for (let look = 1; ; look += 1) {
    const without = await database.transaction(async (tx) => {
      await holdVaultLock(tx);
      const count = await countNodesWithout(tx, to);
      if (count === 0 && (await findVaultKey(tx)) === from) await changeVaultKey(tx, to);
      return count;
    });
    if (without === 0) return;
    if (look === MOST_LOOKS) throw withheld(without, to);
    await sleep(LOOK_EVERY_MS);
    await tellNodes();
  }
}

/** Until a pass over all finds nothing more to do. */
async function rewrapAll(options: RotationOptions, to: string): Promise<Pass> {
  let rewrapped = 0;
  for (;;) {
    const pass = await rewrapOnce(options, to);
    rewrapped += pass.rewrapped;
    if (pass.rewrapped === 0) return { rewrapped, unreadable: pass.unreadable };
  }
}

async function rewrapOnce({ database, keyring, random }: RotationOptions, to: string): Promise<Pass> {
  const unreadable: SecretIdentity[] = [];
  let rewrapped = 0;
  let after: SecretIdentity | null = null;
  for (;;) {
    const page = await listToRewrapAcrossWorkspaces(database, to, after, PAGE);
    const renewed = page.flatMap((secret) => {
      try {
        return [{ secret, wrapped: rewrapKey(random, keyring, keyring.get(to), secret) }];
      } catch (error) {
        if (!(error instanceof UnreadableSecretError)) throw error;
        unreadable.push(secret);
        return [];
      }
    });
    rewrapped += await rewrapAcrossWorkspaces(database, to, renewed);
    after = page.at(-1) ?? null;
    if (page.length < PAGE) return { rewrapped, unreadable };
  }
}

const withheld = (nodes: number, key: string): VaultKeyError =>
  new VaultKeyError(
    `${nodes} of the nodes that are alive ${nodes === 1 ? "does" : "do"} not have the key ${key}, and nothing was changed. ` +
      "Give it to them beside the old one, in TIDEMILL_MASTER_KEY or in <key file>.next, and run this again.",
  );

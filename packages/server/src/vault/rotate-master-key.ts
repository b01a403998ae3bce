import { type Connection, type Db, isTimeout, type Random, type Transactional, takeLock } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import { finishKeyFileRotationLocked } from "./finish-key-file-rotation.ts";
import { keyFileById } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { nextMasterKey, requireKey } from "./next-master-key.ts";
import { rewrapAll } from "./rewrap.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { changeVaultKey, findVaultKey, lockVaultKey, ROTATION_LOCK, takeVaultLock } from "./vault-store.ts";

export interface RotationOptions {
  readonly connection: Connection;
  readonly database: Transactional;
  readonly keyring: Keyring;
  readonly random: Random;
  /** Returns how many living nodes do not have this key. */
  readonly countNodesWithout: (db: Db, masterKeyId: string) => Promise<number>;
  /** Makes all nodes read their keys again. */
  readonly notifyNodes: () => Promise<void>;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** The result of a rotation. */
export interface Rotation {
  /** Id of the old key. */
  readonly from: string;
  /** Id of the new one. */
  readonly to: string;
  readonly rewrapped: number;
  /** Secrets that could not be decrypted. Their old key stays where it is, and no other rotation starts while there are such secrets. */
  readonly unreadable: readonly { readonly workspace: string; readonly name: string }[];
  /** The file that keeps the old key; null when no file does. */
  readonly kept: string | null;
}

const CHECK_EVERY_MS = 1_000;
const MAX_CHECKS = 30;

/**
 * Makes another master key current and wraps every data key by it, while nodes continue to work. A rotation that was interrupted at any
 * point is finished by running it again. If two run at the same time, the second waits for the first and then only finishes it.
 *
 * @throws {VaultKeyError} when there is no other key, or some nodes do not get it; then nothing has changed
 */
export async function rotateMasterKey(options: RotationOptions): Promise<Rotation> {
  const { database, connection } = options;
  const before = await findVaultKey(database);
  if (before === null) throw new VaultKeyError("No node has started on this database yet: there is nothing to rotate.");
  const releaseLock = await takeLock(connection, ROTATION_LOCK).catch((error: unknown) => {
    throw isTimeout(error) ? new VaultKeyError("Another rotation is under way. Run this again when it has ended.") : error;
  });
  try {
    return await rotateLocked(options, before);
  } finally {
    await releaseLock();
  }
}

async function rotateLocked(options: RotationOptions, before: string): Promise<Rotation> {
  const { database, keyring, notifyNodes } = options;
  const current = (await findVaultKey(database)) ?? before;
  await requireKey(keyring, current);
  const unfinished = await rewrapAll(options, current);
  // When secrets still need a third key, or another rotation has just ended, this one only finishes that.
  const to = unfinished.unreadable.length > 0 || current !== before ? current : await prepareNextKey(options, current);
  await notifyNodes();
  if (to !== current) await changeOnceNodesHaveKey(options, current, to);
  const { rewrapped, unreadable } = to === current ? unfinished : await rewrapAll(options, to);
  if (keyring.file === null && to === before && rewrapped === 0 && unreadable.length === 0) throw nothingToDo(to);
  await finishKeyFileRotationLocked(database, keyring);
  await notifyNodes();
  const from = unreadable[0]?.master_key_id ?? keyring.ids.find((id) => id !== to) ?? current;
  return {
    from,
    to,
    rewrapped,
    kept: keyring.file === null || unreadable.length > 0 ? null : keyFileById(keyring.file, from),
    unreadable: unreadable.map(({ workspace_id, name }) => ({ workspace: showWorkspaceId(workspace_id), name })),
  };
}

/** The id of the next key, which is created in the key file's `.next` when there is none. */
const prepareNextKey = ({ database, keyring, random }: RotationOptions, current: string): Promise<string> =>
  database.transaction(async (tx) => {
    await takeVaultLock(tx);
    return nextMasterKey(keyring, current, random);
  });

/** Waits for nodes that are starting: each holds the vault's lock until it counts as alive. */
async function changeOnceNodesHaveKey(
  { database, countNodesWithout, notifyNodes, sleep }: RotationOptions,
  from: string,
  to: string,
): Promise<void> {
  for (let check = 1; ; check += 1) {
    const without = await database.transaction(async (tx) => {
      await takeVaultLock(tx);
      if ((await lockVaultKey(tx)) !== from)
        throw new VaultKeyError("The vault was locked with another key in the meantime. Run this again.");
      const count = await countNodesWithout(tx, to);
      if (count === 0) await changeVaultKey(tx, to);
      return count;
    });
    if (without === 0) return;
    if (check === MAX_CHECKS) throw nodesWithoutKey(without, to);
    await sleep(CHECK_EVERY_MS);
    await notifyNodes();
  }
}

const nodesWithoutKey = (nodes: number, key: string): VaultKeyError =>
  new VaultKeyError(
    `${nodes} of the nodes that are alive ${nodes === 1 ? "does" : "do"} not have the key ${key}, and nothing was changed. ` +
      "Give it to them beside the old one, in TIDEMILL_MASTER_KEY or in <key file>.next, and run this again.",
  );

/**
 * The error of a rotation that has nothing to do: an operator who gave the keys in the wrong order must not believe that the old key is out
 * of use.
 */
const nothingToDo = (key: string): VaultKeyError =>
  new VaultKeyError(
    `The vault is locked with ${key}, the last key of TIDEMILL_MASTER_KEY, and no secret is wrapped by the other: nothing was rotated. ` +
      "To rotate, give the present key first and the new one last.",
  );

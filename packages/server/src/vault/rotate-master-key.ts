import { type Connection, type Db, isTimeout, type Random, type Transactional, takeLock } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import { lockAndSettleKeyFile } from "./fit.ts";
import { keptAs } from "./key-file.ts";
import type { Keyring } from "./keyring.ts";
import { nextMasterKey, requireKey } from "./next-master-key.ts";
import { rewrapAll } from "./rewrap.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { changeVaultKey, findVaultKey, holdVaultLock, lockVaultKey, ROTATION_LOCK } from "./vault-store.ts";

export interface RotationOptions {
  readonly connection: Connection;
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
  /** Secrets that did not open, whose old key stays where it was. While there are any, no other rotation begins. */
  readonly unreadable: readonly { readonly workspace: string; readonly name: string }[];
  /** The file in which the old key is kept; null when it is not kept in one. */
  readonly kept: string | null;
}

const LOOK_EVERY_MS = 1_000;
const MOST_LOOKS = 30;

/**
 * Locks the vault with another master key and wraps every data key anew, under load. Broken off at any point, it is finished by
 * being run again. Of two at a time the second waits, and then leads nowhere else than the first.
 *
 * @throws {VaultKeyError} when there is no other key, or nodes do not come to have it; then nothing has changed
 */
export async function rotateMasterKey(options: RotationOptions): Promise<Rotation> {
  const { database, connection } = options;
  const before = await findVaultKey(database);
  if (before === null) throw new VaultKeyError("No node has started on this database yet: there is nothing to rotate.");
  const giveBack = await takeLock(connection, ROTATION_LOCK).catch((error: unknown) => {
    throw isTimeout(error) ? new VaultKeyError("Another rotation is under way. Run this again when it has ended.") : error;
  });
  try {
    return await rotateInTurn(options, before);
  } finally {
    await giveBack();
  }
}

async function rotateInTurn(options: RotationOptions, before: string): Promise<Rotation> {
  const { database, keyring, tellNodes } = options;
  const current = (await findVaultKey(database)) ?? before;
  await requireKey(keyring, current);
  const left = await rewrapAll(options, current);
  // When secrets still need a third key, or another rotation has just ended, there is nothing to do but to finish that.
  const to = left.unreadable.length > 0 || current !== before ? current : await prepareNext(options, current);
  await tellNodes();
  if (to !== current) await changeOnceShared(options, current, to);
  const { rewrapped, unreadable } = to === current ? left : await rewrapAll(options, to);
  if (keyring.file === null && to === before && rewrapped === 0 && unreadable.length === 0) throw nothingToDo(to);
  await lockAndSettleKeyFile(database, keyring);
  await tellNodes();
  const from = unreadable[0]?.master_key_id ?? keyring.ids.find((id) => id !== to) ?? current;
  return {
    from,
    to,
    rewrapped,
    kept: keyring.file === null || unreadable.length > 0 ? null : keptAs(keyring.file, from),
    unreadable: unreadable.map(({ workspace_id, name }) => ({ workspace: showWorkspaceId(workspace_id), name })),
  };
}

/** Answers which key comes next; in the key file's `.next` it is made when there is none. */
const prepareNext = ({ database, keyring, random }: RotationOptions, current: string): Promise<string> =>
  database.transaction(async (tx) => {
    await holdVaultLock(tx);
    return nextMasterKey(keyring, current, random);
  });

/** A node that starts meanwhile is waited for: it has the vault's lock until it counts as alive. */
async function changeOnceShared(
  { database, countNodesWithout, tellNodes, sleep }: RotationOptions,
  from: string,
  to: string,
): Promise<void> {
  for (let look = 1; ; look += 1) {
    const without = await database.transaction(async (tx) => {
      await holdVaultLock(tx);
      if ((await lockVaultKey(tx)) !== from) throw new VaultKeyError("The vault was locked with another key meanwhile. Run this again.");
      const count = await countNodesWithout(tx, to);
      if (count === 0) await changeVaultKey(tx, to);
      return count;
    });
    if (without === 0) return;
    if (look === MOST_LOOKS) throw withheld(without, to);
    await sleep(LOOK_EVERY_MS);
    await tellNodes();
  }
}

const withheld = (nodes: number, key: string): VaultKeyError =>
  new VaultKeyError(
    `${nodes} of the nodes that are alive ${nodes === 1 ? "does" : "do"} not have the key ${key}, and nothing was changed. ` +
      "Give it to them beside the old one, in TIDEMILL_MASTER_KEY or in <key file>.next, and run this again.",
  );

/** Whoever gives the keys the wrong way round must not believe that he is rid of the old one. */
const nothingToDo = (key: string): VaultKeyError =>
  new VaultKeyError(
    `The vault is locked with ${key}, the last key of TIDEMILL_MASTER_KEY, and no secret is wrapped by the other: nothing was rotated. ` +
      "To rotate, give the present key first and the new one last.",
  );

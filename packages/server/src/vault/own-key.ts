import { type Random, type Transactional, type Uuid, unavailable, type WorkspaceId } from "#kernel";
import { loadKey } from "./current-key.ts";
import { openBytes, openDataKey, type SecretIdentity, sealBytes, UnreadableSecretError, wrapDataKey } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";
import { KEY_BYTES } from "./master-key.ts";
import { findOwnKey, insertOwnKey, lockCurrentKey, type OwnKeyRow } from "./own-key-store.ts";

const NOBODY = "00000000-0000-0000-0000-000000000000";

/** The identity to which a key of the service itself is bound, in the form of a workspace's secret. */
export const ownIdentity = (name: string): SecretIdentity => ({ workspace_id: NOBODY as WorkspaceId, id: NOBODY as Uuid, name });

/**
 * Encrypts data of the service itself, which belongs to no workspace, with a data key of its own. A rotation of the master key wraps the
 * data key again.
 */
export class OwnKey {
  readonly #options: { readonly database: Transactional; readonly keyring: Keyring; readonly random: Random; readonly name: string };

  constructor(options: { database: Transactional; keyring: Keyring; random: Random; name: string }) {
    this.#options = options;
  }

  /** @param binding what the value belongs to: with another binding it cannot be decrypted */
  async seal(value: string, binding: string): Promise<Buffer> {
    const { random } = this.#options;
    return sealBytes(random, await this.#dataKey(), Buffer.from(value), binding);
  }

  /** @throws {UnreadableSecretError} for a ciphertext that was altered, or whose key was given up */
  async open(ciphertext: Buffer, binding: string): Promise<string> {
    const dataKey = await this.#dataKey();
    try {
      return openBytes(dataKey, ciphertext, binding).toString("utf8");
    } catch (error) {
      throw new UnreadableSecretError(ownIdentity(this.#options.name), { cause: error });
    }
  }

  /** @throws UNAVAILABLE when this node does not have the master key */
  async #dataKey(): Promise<Buffer> {
    const { database, keyring, name } = this.#options;
    const stored = (await findOwnKey(database, name)) ?? (await this.#make());
    await loadKey(keyring, stored.master_key_id);
    return openDataKey(keyring, ownIdentity(name), stored);
  }

  #make(): Promise<OwnKeyRow> {
    const { database, keyring, random, name } = this.#options;
    return database.transaction(async (tx) => {
      const current = await lockCurrentKey(tx);
      if (current === null) throw unavailable("The vault has no master key yet.");
      await loadKey(keyring, current);
      const dataKey = random.bytes(KEY_BYTES);
      await insertOwnKey(tx, {
        name,
        master_key_id: current,
        wrapped_key: wrapDataKey(random, keyring.get(current), ownIdentity(name), dataKey),
      });
      const stored = await findOwnKey(tx, name);
      if (!stored) throw new Error("An insert stored no row.");
      return stored;
    });
  }
}

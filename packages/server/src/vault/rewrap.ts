import type { Db, Random } from "#kernel";
import { rewrapKey, type SecretIdentity, UnreadableSecretError } from "./envelope.ts";
import type { Keyring } from "./keyring.ts";
import { ownIdentity } from "./own-key.ts";
import { listOwnKeysToRewrap, rewrapOwnKey } from "./own-key-store.ts";
import { VaultKeyError } from "./vault-key-error.ts";
import { findVaultKey, listToRewrapAcrossWorkspaces, rewrapAcrossWorkspaces, type WrappedSecret } from "./vault-store.ts";

interface RewrapOptions {
  readonly database: Db;
  readonly keyring: Keyring;
  readonly random: Random;
}

interface Pass {
  readonly rewrapped: number;
  /** Secrets that could not be decrypted, as they were read. */
  readonly unreadable: readonly WrappedSecret[];
}

const PAGE = 500;

/**
 * Wraps every data key by the vault's current key, until a pass over all of them finds nothing more to do.
 *
 * @throws {VaultKeyError} when `to` is not the current key, or ceases to be; then nothing is wrapped by `to`
 */
export async function rewrapAll(options: RewrapOptions, to: string): Promise<Pass> {
  let rewrapped = 0;
  for (;;) {
    const pass = await rewrapOnce(options, to);
    rewrapped += pass.rewrapped;
    if ((await findVaultKey(options.database)) !== to) throw new VaultKeyError("The vault was locked with another key. Run this again.");
    if (pass.rewrapped === 0) return { rewrapped, unreadable: pass.unreadable };
  }
}

async function rewrapOnce({ database, keyring, random }: RewrapOptions, to: string): Promise<Pass> {
  const unreadable: WrappedSecret[] = [];
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
    if (renewed.length > 0) rewrapped += await rewrapAcrossWorkspaces(database, to, renewed);
    after = page.at(-1) ?? null;
    if (page.length < PAGE) break;
  }
  for (const own of await listOwnKeysToRewrap(database, to)) {
    const wrapped = { ...ownIdentity(own.name), ...own };
    try {
      if (await rewrapOwnKey(database, to, own, rewrapKey(random, keyring, keyring.get(to), wrapped))) rewrapped += 1;
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      unreadable.push(wrapped);
    }
  }
  return { rewrapped, unreadable };
}

import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import type { Random, Uuid, WorkspaceId } from "#kernel";
import type { FormerValue } from "./former.ts";
import type { Keyring } from "./keyring.ts";
import { KEY_BYTES, type MasterKey } from "./master-key.ts";

/** Identifies a secret. Its ciphertexts are bound to this identity: with another workspace, id or name they cannot be decrypted. */
export interface SecretIdentity {
  readonly workspace_id: WorkspaceId;
  readonly id: Uuid;
  readonly name: string;
}

/**
 * Where a secret may be used; null allows everything. The secret's value is bound to the limits: with other limits it cannot be decrypted.
 */
export interface SecretLimits {
  readonly allowed_queues: readonly string[] | null;
  readonly allowed_hosts: readonly string[] | null;
}

/** A value encrypted with its own data key, and that data key wrapped by a master key. */
export interface Envelope {
  readonly ciphertext: Buffer;
  readonly wrapped_key: Buffer;
  readonly master_key_id: string;
}

export interface SealedSecret extends SecretIdentity, SecretLimits, Envelope {}

/** A stored secret cannot be decrypted: it was altered, or its master key is missing. */
export class UnreadableSecretError extends Error {
  override readonly name = "UnreadableSecretError";

  constructor({ workspace_id, name }: SecretIdentity, options: ErrorOptions) {
    super(`The secret ${name} of the workspace ${workspace_id} cannot be decrypted.`, options);
  }
}

/** Layout of a ciphertext: a version byte, the nonce, the encrypted bytes, the tag. */
const VERSION = 1;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a value with a new data key. Source: design §7. */
export const sealSecret = (random: Random, master: MasterKey, secret: SecretIdentity & SecretLimits, value: string): Envelope =>
  sealValues(random, master, secret, value, []);

/** The same with the values that the secret had before. */
export function sealValues(
  random: Random,
  master: MasterKey,
  secret: SecretIdentity & SecretLimits,
  value: string,
  former: readonly FormerValue[],
): Envelope & { readonly former: Buffer | null } {
  const dataKey = random.bytes(KEY_BYTES);
  const ciphertext = seal(random, dataKey, Buffer.from(value), valueBinding(secret));
  const sealed = former.length > 0 ? seal(random, dataKey, Buffer.from(JSON.stringify(former)), bindingOf("former", secret)) : null;
  const wrapped_key = seal(random, master.key, dataKey, keyBinding(secret));
  dataKey.fill(0);
  return { ciphertext, wrapped_key, master_key_id: master.id, former: sealed };
}

/** @throws {UnreadableSecretError} */
export const openSecret = (keyring: Keyring, stored: SealedSecret): string =>
  withDataKey(keyring, stored, (dataKey) => open(dataKey, stored.ciphertext, valueBinding(stored)).toString("utf8"));

/** @throws {UnreadableSecretError} */
export const openFormer = (
  keyring: Keyring,
  stored: SecretIdentity & Omit<Envelope, "ciphertext">,
  former: Buffer,
): readonly FormerValue[] =>
  withDataKey(keyring, stored, (dataKey) => JSON.parse(open(dataKey, former, bindingOf("former", stored)).toString("utf8")));

/**
 * Wraps the data key of a secret by another master key. The value stays encrypted as it is.
 *
 * @throws {UnreadableSecretError}
 */
export const rewrapKey = (
  random: Random,
  keyring: Keyring,
  master: MasterKey,
  stored: SecretIdentity & Omit<Envelope, "ciphertext">,
): Buffer => withDataKey(keyring, stored, (dataKey) => seal(random, master.key, dataKey, keyBinding(stored)));

/** Wraps a data key by a master key. */
export const wrapDataKey = (random: Random, master: MasterKey, identity: SecretIdentity, dataKey: Buffer): Buffer =>
  seal(random, master.key, dataKey, keyBinding(identity));

/** @throws {UnreadableSecretError} */
export const openDataKey = (keyring: Keyring, identity: SecretIdentity, stored: Omit<Envelope, "ciphertext">): Buffer =>
  withDataKey(keyring, { ...identity, ...stored }, (dataKey) => Buffer.from(dataKey));

/** Encrypts data of the service itself. */
export const sealBytes = (random: Random, dataKey: Buffer, plain: Buffer, binding: string): Buffer =>
  seal(random, dataKey, plain, Buffer.from(`tidemill own ${VERSION} ${binding}`));

/** @throws an error for a ciphertext that was altered, or is bound to something else */
export const openBytes = (dataKey: Buffer, sealed: Buffer, binding: string): Buffer =>
  open(dataKey, sealed, Buffer.from(`tidemill own ${VERSION} ${binding}`));

function withDataKey<Result>(
  keyring: Keyring,
  stored: SecretIdentity & Omit<Envelope, "ciphertext">,
  use: (dataKey: Buffer) => Result,
): Result {
  try {
    const dataKey = open(keyring.get(stored.master_key_id).key, stored.wrapped_key, keyBinding(stored));
    try {
      return use(dataKey);
    } finally {
      dataKey.fill(0);
    }
  } catch (error) {
    throw new UnreadableSecretError(stored, { cause: error });
  }
}

function seal(random: Random, key: KeyObject | Buffer, plain: Buffer, binding: Buffer): Buffer {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(binding);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(key: KeyObject | Buffer, sealed: Buffer, binding: Buffer): Buffer {
  if (sealed[0] !== VERSION || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new Error("The ciphertext has an unknown layout.");
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(binding)
    .setAuthTag(sealed.subarray(end));
  return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES, end)), decipher.final()]);
}

const keyBinding = (secret: SecretIdentity): Buffer => bindingOf("key", secret);

const valueBinding = (secret: SecretIdentity & SecretLimits): Buffer =>
  bindingOf("value", secret, listed(secret.allowed_queues), listed(secret.allowed_hosts));

/** A limit as a field: a JSON array of its names, sorted, or `null`. */
const listed = (names: readonly string[] | null): string => JSON.stringify(names && [...names].sort());

/** The additional data of a ciphertext. Each field follows its length, so that no two lists of fields give the same bytes. */
const bindingOf = (purpose: "value" | "former" | "key", { workspace_id, id, name }: SecretIdentity, ...limits: readonly string[]): Buffer =>
  Buffer.concat(
    ["tidemill secret", String(VERSION), purpose, workspace_id, id, name, ...limits].flatMap((field) => {
      const bytes = Buffer.from(field);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );

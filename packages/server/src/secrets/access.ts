import type { AuditLog } from "#audit";
import { Batcher, type Db, type EmitEvent, ProblemError, tolerate, unavailable, type WorkspaceId } from "#kernel";
import { findSecretsAcrossWorkspaces, type StoredSecret } from "./access-store.ts";
import { openSecret, UnreadableSecretError } from "./envelope.ts";
import { type FoundSecret, type HandedOut, type HandedSecrets, HandOut, type SecretUse } from "./hand-out.ts";
import type { Keyring } from "./keyring.ts";

export interface SecretAccessOptions {
  readonly db: Db;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly emit: EmitEvent;
}

/** Secrets that are read and decrypted together, each of at most 64 KiB. */
const MOST_SECRETS = 500;
/** One after the other, so that each is large while there is much to do. */
const WRITERS = 1;

/**
 * Hands secrets out to attempts. What is asked for while a look-up is under way is looked up together after it, so an attempt
 * has the values that stand when it begins. Nothing is handed out before the audit log has it. Source: specification, Secret
 * (every access is recorded).
 */
export class SecretAccess {
  readonly #options: SecretAccessOptions;
  readonly #batcher: Batcher<SecretUse, HandedOut>;

  constructor(options: SecretAccessOptions) {
    this.#options = options;
    this.#batcher = new Batcher({
      most: MOST_SECRETS,
      writers: WRITERS,
      weigh: ({ names }) => names.length,
      write: (uses) => this.#handOutApart(uses),
    });
  }

  /**
   * The secrets that an attempt names.
   *
   * @throws {SecretError}; UNAVAILABLE when the database, or the master key of a secret, is away
   */
  async resolve(use: SecretUse): Promise<HandedSecrets> {
    const outcome = await this.#batcher.add(use);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  /** What the database refuses is tried in halves, so that one attempt's bad luck is no other's. */
  async #handOutApart(uses: SecretUse[]): Promise<HandedOut[]> {
    try {
      return await this.#handOut(uses);
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      this.#options.emit("secret_access_failed", { uses: uses.length, error });
      if (uses.length === 1) return [unavailable("The secrets cannot be handed out.")];
      const half = uses.length >> 1;
      return [...(await this.#handOutApart(uses.slice(0, half))), ...(await this.#handOutApart(uses.slice(half)))];
    }
  }

  async #handOut(uses: SecretUse[]): Promise<HandedOut[]> {
    const { db, audit } = this.#options;
    const found = await this.#find(uses);
    const handOut = new HandOut((workspaceId, name) => found.get(keyOf(workspaceId, name)));
    const outcomes = uses.map((use) => handOut.decide(use));
    await audit.recordAll(db, handOut.events);
    return outcomes;
  }

  async #find(uses: readonly SecretUse[]): Promise<Map<string, FoundSecret>> {
    const { db, keyring, emit } = this.#options;
    const wanted = new Map(
      uses.flatMap(({ workspaceId, names }) => names.map((name) => [keyOf(workspaceId, name), { workspaceId, name }])),
    );
    const stored = await findSecretsAcrossWorkspaces(db, [...wanted.values()]);
    // The master key was rotated, and word of it has not come here.
    if (!stored.every(({ master_key_id }) => keyring.has(master_key_id))) {
      await tolerate(
        () => keyring.reload(),
        (error) => emit("keyring_unreadable", { error }),
      );
    }
    return new Map(stored.map((one) => [keyOf(one.workspace_id, one.name), { stored: one, value: this.#open(one) }]));
  }

  #open(stored: StoredSecret): FoundSecret["value"] {
    const { keyring, emit } = this.#options;
    const { workspace_id: workspaceId, name: secret, master_key_id: masterKeyId } = stored;
    if (!keyring.has(masterKeyId)) {
      emit("vault_key_missing", { masterKeyId });
      return unavailable("This node does not have the master key of the secret.");
    }
    try {
      return openSecret(keyring, stored);
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      emit("secret_unreadable", { workspaceId, secret, error });
      return error;
    }
  }
}

const keyOf = (workspaceId: WorkspaceId, name: string): string => `${workspaceId}${name}`;

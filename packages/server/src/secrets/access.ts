import type { AuditLog } from "#audit";
import { Batcher, type Db, type EmitEvent, tolerate, type WorkspaceId } from "#kernel";
import { findSecretsAcrossWorkspaces, type StoredSecret } from "./access-store.ts";
import { openSecret, UnreadableSecretError } from "./envelope.ts";
import { type FoundSecret, HandOut, SecretError, type SecretUse, type SecretValues } from "./hand-out.ts";
import type { Keyring } from "./keyring.ts";

export interface SecretAccessOptions {
  readonly db: Db;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly emit: EmitEvent;
}

const MOST_USES = 500;
const WRITERS = 1;

/**
 * Hands secrets out to attempts. What is asked for while a look-up is under way is looked up together after it, so an attempt
 * has the values that stand when it begins. Nothing is handed out before the audit log has it. Source: specification, Secret
 * (every access is recorded).
 */
export class SecretAccess {
  readonly #options: SecretAccessOptions;
  readonly #batcher: Batcher<SecretUse, SecretValues | SecretError>;

  constructor(options: SecretAccessOptions) {
    this.#options = options;
    this.#batcher = new Batcher({ most: MOST_USES, writers: WRITERS, write: (uses) => this.#handOut(uses) });
  }

  /**
   * The values of the secrets that an attempt names.
   *
   * @throws {SecretError}; UNAVAILABLE when the database is away
   */
  async resolve(use: SecretUse): Promise<SecretValues> {
    if (use.names.length === 0) return new Map();
    const outcome = await this.#batcher.add(use);
    if (outcome instanceof SecretError) throw outcome;
    return outcome;
  }

  async #handOut(uses: SecretUse[]): Promise<(SecretValues | SecretError)[]> {
    const { db, audit } = this.#options;
    const found = await this.#find(uses);
    const handOut = new HandOut();
    const outcomes = uses.map((use) => handOut.decide(use, (name) => found.get(keyOf(use.workspaceId, name))));
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

  #open(stored: StoredSecret): string | UnreadableSecretError {
    try {
      return openSecret(this.#options.keyring, stored);
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      this.#options.emit("secret_unreadable", { workspaceId: stored.workspace_id, secret: stored.name, error });
      return error;
    }
  }
}

const keyOf = (workspaceId: WorkspaceId, name: string): string => `${workspaceId}${name}`;

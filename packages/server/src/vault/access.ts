import type { AuditLog, NewAuditEvent } from "#audit";
import { Batcher, type Db, type EmitEvent, ProblemError, tolerate, type UuidSource, unavailable } from "#kernel";
import { SYSTEM } from "#workspaces";
import { type AnsweredSecret, handOutAcrossWorkspaces } from "./access-store.ts";
import { openSecret, type SealedSecret, UnreadableSecretError } from "./envelope.ts";
import { decide, type Group, groupUses, type HandedOut, type HandedSecrets, type SecretUse } from "./hand-out.ts";
import type { Keyring } from "./keyring.ts";

export interface SecretAccessOptions {
  readonly db: Db;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
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
    const { db, ids } = this.#options;
    const { groups, groupOf } = groupUses(uses);
    const asked = groups.flatMap(({ use: { workspaceId, queue, host, names }, attempts }, group) => {
      const input = JSON.stringify({ queue, host, attempts });
      return names.map((name) => ({ group, workspaceId, queue, host, name, eventId: ids.next(), input }));
    });
    const answers = await handOutAcrossWorkspaces(db, asked);
    await this.#learnKeysOf(answers);
    const byGroup = Map.groupBy(answers, ({ group }) => group);
    const handed = await Promise.all(groups.map((group, at) => this.#decide(group, byGroup.get(at) ?? [])));
    return groupOf.map((at) => handed[at] as HandedOut);
  }

  /** The master key may have been rotated without word of it having come here. */
  async #learnKeysOf(answers: readonly AnsweredSecret[]): Promise<void> {
    const { keyring, emit } = this.#options;
    if (answers.every(({ sealed }) => !sealed || keyring.has(sealed.master_key_id))) return;
    await tolerate(
      () => keyring.reload(),
      (error) => emit("keyring_read_failed", { error }),
    );
  }

  /** That a secret does not decrypt is told besides: that it was asked for has been told. */
  async #decide(group: Group, answers: readonly AnsweredSecret[]): Promise<HandedOut> {
    const unreadable: NewAuditEvent[] = [];
    const handed = decide(group, answers, (sealed) => {
      const value = this.#open(sealed);
      if (value instanceof UnreadableSecretError) unreadable.push(unreadableEvent(group, sealed.name));
      return value;
    });
    await this.#options.audit.recordAll(this.#options.db, unreadable);
    return handed;
  }

  #open(sealed: SealedSecret): string | UnreadableSecretError | ProblemError {
    const { keyring, emit } = this.#options;
    const { workspace_id: workspaceId, name: secret, master_key_id: masterKeyId } = sealed;
    if (!keyring.has(masterKeyId)) {
      emit("master_key_not_found", { masterKeyId });
      return unavailable("This node does not have the master key of the secret.");
    }
    try {
      return openSecret(keyring, sealed);
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      emit("secret_decrypt_failed", { workspaceId, secret, error });
      return error;
    }
  }
}

const unreadableEvent = ({ use: { workspaceId, queue, host }, attempts }: Group, name: string): NewAuditEvent => ({
  workspaceId,
  eventType: "secret.unreadable",
  actorId: SYSTEM,
  resourceType: "secret",
  resourceId: name,
  input: { queue, host, attempts },
  output: null,
});

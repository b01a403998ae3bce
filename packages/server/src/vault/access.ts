import type { AuditLog, NewAuditEvent } from "#audit";
import { Batcher, type Db, type EmitEvent, type LoopTime, ProblemError, tolerate, type UuidSource, unavailable } from "#kernel";
import { FormCache } from "#redaction";
import { SYSTEM } from "#workspaces";
import { accessSecretsAcrossWorkspaces, type FoundSecret } from "./access-store.ts";
import { openFormer, openSecret, type SealedSecret, UnreadableSecretError } from "./envelope.ts";
import type { FormerValue } from "./former.ts";
import { groupUses, resolveGroup, type UseGroup } from "./group-uses.ts";
import type { Keyring } from "./keyring.ts";
import type { ResolvedSecrets, SecretResolution, SecretUse } from "./secret-use.ts";

export interface SecretAccessOptions {
  readonly db: Db;
  readonly keyring: Keyring;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly emit: EmitEvent;
  readonly loopTime: LoopTime;
}

/** The maximum number of secrets that the attempts of one batch name. */
const MAX_SECRETS = 500;
/**
 * One batch for a workspace with many attempts, which waits for other nodes that append to its audit chain, and one for other workspaces.
 */
const WRITERS = 2;

/**
 * Gives attempts the secrets that they name. Uses that arrive while a batch is read are resolved by the next one, so every attempt
 * gets the values that are current when it starts. An attempt gets values only after the audit log has recorded it. Source:
 * specification, Secret (every access is recorded).
 */
export class SecretAccess {
  readonly #options: SecretAccessOptions;
  readonly #batcher: Batcher<SecretUse, SecretResolution>;
  readonly #forms = new FormCache();

  constructor(options: SecretAccessOptions) {
    this.#options = options;
    this.#batcher = new Batcher({
      maxWeight: MAX_SECRETS,
      writers: WRITERS,
      oneWriteEach: true,
      weigh: ({ names }) => names.length,
      workspaceOf: ({ workspaceId }) => workspaceId,
      write: (uses) => this.#resolveOrSplit(uses),
    });
  }

  /**
   * The secrets that an attempt names.
   *
   * @param signal withdraws the attempt: then its secrets are not read, and the result rejects with the signal's reason
   * @throws {SecretError}; UNAVAILABLE when the database, or the master key of a secret, is not available
   */
  async resolve(use: SecretUse, signal?: AbortSignal): Promise<ResolvedSecrets> {
    const resolution = await this.#batcher.add(use, signal);
    if (resolution instanceof Error) throw resolution;
    return resolution;
  }

  /** Forgets the forms of values that no attempt has used since the last call. */
  forgetUnusedForms(): void {
    this.#forms.forgetUnused();
  }

  /**
   * A batch that the database refuses is tried again in halves, so that one attempt does not fail the others. After the read, secrets are
   * left to decrypt. A workspace with much other work on the event loop waits for that; others do not.
   */
  async #resolveOrSplit(uses: SecretUse[]): Promise<(SecretResolution | Promise<SecretResolution>)[]> {
    let resolved: (Promise<SecretResolution> | null)[];
    try {
      resolved = await this.#resolveFirst(uses);
    } catch (error) {
      if (error instanceof ProblemError) throw error;
      this.#options.emit("secret_access_failed", { uses: uses.length, error });
      if (uses.length === 1) return [unavailable("The secrets cannot be read now.")];
      const half = uses.length >> 1;
      return [...(await this.#resolveOrSplit(uses.slice(0, half))), ...(await this.#resolveOrSplit(uses.slice(half)))];
    }
    const rest = uses.filter((_, at) => resolved[at] === null);
    const later = rest.length > 0 ? (await this.#resolveOrSplit(rest)).values() : null;
    return resolved.map((resolution) => resolution ?? (later?.next().value as SecretResolution | Promise<SecretResolution>));
  }

  /** Resolves as many uses as fit into one statement. Null: not resolved yet. */
  async #resolveFirst(uses: SecretUse[]): Promise<(Promise<SecretResolution> | null)[]> {
    const { db, ids } = this.#options;
    const { groups, groupOf } = groupUses(uses);
    const requests = groups.map(({ use, attempts }) => {
      const { workspaceId, queue, host, names, withFormer = false, onlySearch = false } = use;
      const input = JSON.stringify({ ...userOf(use), host, attempts });
      return { workspaceId, queue, host, names, withFormer, onlySearch, eventId: ids.next(), input };
    });
    const found = await accessSecretsAcrossWorkspaces(db, requests);
    await this.#loadKeysOf(found);
    const byGroup = Map.groupBy(found, ({ group }) => group);
    const resolutions = new Map([...byGroup].map(([at, ofGroup]) => [at, this.#resolveGroup(groups[at] as UseGroup, ofGroup)]));
    return groupOf.map((at) => resolutions.get(at) ?? null);
  }

  /** Loads missing master keys: a key may have been rotated without this node having been notified. */
  async #loadKeysOf(found: readonly FoundSecret[]): Promise<void> {
    const { keyring, emit } = this.#options;
    if (found.every(({ sealed }) => !sealed || keyring.has(sealed.master_key_id))) return;
    await tolerate(
      () => keyring.reload(),
      (error) => emit("keyring_read_failed", { error }),
    );
  }

  /** Resolves a group. The access is already recorded. A secret that cannot be decrypted becomes an event of its own. Never rejects. */
  async #resolveGroup(group: UseGroup, found: readonly FoundSecret[]): Promise<SecretResolution> {
    try {
      return await this.#decryptGroup(group, found);
    } catch (error) {
      if (error instanceof ProblemError) return error;
      this.#options.emit("secret_access_failed", { uses: Object.values(group.attempts).flat().length, error });
      return unavailable("The secrets cannot be read now.");
    }
  }

  async #decryptGroup(group: UseGroup, found: readonly FoundSecret[]): Promise<SecretResolution> {
    const unreadable: NewAuditEvent[] = [];
    const bytes = found.reduce((sum, { sealed, former }) => sum + (sealed?.ciphertext.length ?? 0) + (former?.length ?? 0), 0);
    const { workspaceId } = group.use;
    const open = (sealed: SealedSecret) => {
      const value = this.#open(sealed);
      if (value instanceof UnreadableSecretError) unreadable.push(unreadableEvent(group, sealed.name));
      return value;
    };
    const work = resolveGroup(group, found, open, (...of) => this.#openFormer(...of), this.#forms.of(workspaceId));
    const resolved = await this.#options.loopTime.run(workspaceId, bytes, work);
    await this.#options.audit.recordAll(this.#options.db, unreadable);
    return resolved;
  }

  /** Decrypts former values. Called for a secret that was decrypted. */
  #openFormer(sealed: SealedSecret, former: Buffer): readonly FormerValue[] | null {
    try {
      return openFormer(this.#options.keyring, sealed, former);
    } catch (error) {
      if (!(error instanceof UnreadableSecretError)) throw error;
      this.#options.emit("secret_decrypt_failed", { workspaceId: sealed.workspace_id, secret: sealed.name, error });
      return null;
    }
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

/** The user of secrets, as an audit event shows it. */
const userOf = ({ queue, workflow, webhook }: SecretUse): object => {
  if (webhook !== undefined) return { webhook };
  return workflow === undefined ? { queue } : { workflow };
};

const unreadableEvent = ({ use, attempts }: UseGroup, name: string): NewAuditEvent => ({
  workspaceId: use.workspaceId,
  eventType: "secret.unreadable",
  actorId: SYSTEM,
  resourceType: "secret",
  resourceId: name,
  input: { ...userOf(use), host: use.host, attempts, secrets: [name] },
  output: null,
});

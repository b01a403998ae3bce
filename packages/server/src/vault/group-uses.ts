import type { ProblemError, SlicedWork, Timestamp } from "#kernel";
import { type KnownForms, Redactor } from "#redaction";
import type { FoundSecret } from "./access-store.ts";
import { type SealedSecret, UnreadableSecretError } from "./envelope.ts";
import type { FormerValue } from "./former.ts";
import { SecretError, type SecretResolution, type SecretUse } from "./secret-use.ts";

/** Later than any time. */
const FOREVER = "9999-12-31T00:00:00.000Z";

/** Attempts of one queue, workflow or webhook that name the same secrets for the same host. They share one resolution and one audit event. */
export interface UseGroup {
  readonly use: SecretUse;
  /** Ids of jobs, by attempt number. */
  readonly attempts: Record<number, string[]>;
}

/** Groups uses. `groupOf` holds the index of each use's group. */
export function groupUses(uses: readonly SecretUse[]): { groups: UseGroup[]; groupOf: number[] } {
  const groups: UseGroup[] = [];
  const known = new Map<string, number>();
  const groupOf = uses.map((use) => {
    const key = `${use.workspaceId} ${use.queue ?? ""} ${use.workflow ?? ""} ${use.webhook ?? ""} ${use.host} ${use.names.join()} ${use.withFormer} ${use.onlySearch}`;
    const at = known.get(key) ?? groups.push({ use, attempts: {} }) - 1;
    known.set(key, at);
    const { attempts } = groups[at] as UseGroup;
    attempts[use.attempt] ??= [];
    attempts[use.attempt]?.push(use.jobId);
    return at;
  });
  return { groups, groupOf };
}

/**
 * What the attempts of a group get: all secrets that they name, or the error of the first that they cannot have.
 *
 * @param found secrets from the store, in the order of the names
 * @param open decrypts a value
 * @param openFormer decrypts the values that a secret had before. Null: they cannot be decrypted
 * @param known the known forms of values that were resolved before
 */
export function* resolveGroup(
  { use: { queue, workflow, webhook, host } }: UseGroup,
  found: readonly FoundSecret[],
  open: (sealed: SealedSecret) => string | UnreadableSecretError | ProblemError,
  openFormer: (sealed: SealedSecret, former: Buffer) => readonly FormerValue[] | null,
  known: KnownForms,
): SlicedWork<SecretResolution> {
  const values = new Map<string, string>();
  const former: (readonly [name: string, value: string])[] = [];
  let missingBefore = "" as Timestamp;
  for (const { name, sealed, former: sealedFormer, missingBefore: before, refused } of found) {
    if (!sealed || before === null) return new SecretError("SECRET_NOT_FOUND", `There is no secret ${name}.`);
    if (refused === "queue") {
      const other = webhook === undefined ? `workflows such as ${workflow}` : `webhooks such as ${webhook}`;
      const user = queue === null ? `${other}: it is for queues alone` : `the queue ${queue}`;
      return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be used by ${user}.`);
    }
    if (refused === "host") return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be sent to the host ${host}.`);
    const value = open(sealed);
    if (value instanceof UnreadableSecretError)
      return new SecretError("SECRET_UNREADABLE", `The secret ${name} cannot be decrypted; give it a new value and its limits again.`);
    if (typeof value !== "string") return value;
    values.set(name, value);
    const opened = sealedFormer ? openFormer(sealed, sealedFormer) : [];
    for (const one of opened ?? []) if (one.value !== value) former.push([name, one.value]);
    const missing = opened ? before : FOREVER;
    if (missing > missingBefore) missingBefore = missing;
    yield;
  }
  const redactor = new Redactor(former.length > 0 ? [...values, ...former] : values, known);
  return { values, redactor, former: former.map(([, value]) => value), missingBefore };
}

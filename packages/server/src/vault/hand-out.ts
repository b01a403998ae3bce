import type { AttemptError } from "@tidemill/contract";
import type { ProblemError, WorkspaceId } from "#kernel";
import { Redactor } from "#redaction";
import type { AnsweredSecret } from "./access-store.ts";
import { type SealedSecret, UnreadableSecretError } from "./envelope.ts";

/** An attempt that needs secrets. */
export interface SecretUse {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
  /** Where they would be sent. */
  readonly host: string;
  /** As the API shows it. */
  readonly jobId: string;
  readonly attempt: number;
  readonly names: readonly string[];
}

/** The secrets that an attempt names, and what takes them out of its answer. */
export interface HandedSecrets {
  /** By name. */
  readonly values: ReadonlyMap<string, string>;
  readonly redactor: Redactor;
}

/** Why an attempt does not get its secrets. */
export class SecretError extends Error {
  override readonly name = "SecretError";
  readonly code: Extract<AttemptError, "SECRET_NOT_FOUND" | "SECRET_NOT_ALLOWED" | "SECRET_UNREADABLE">;

  constructor(code: SecretError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** What an attempt gets. `UNAVAILABLE`: not now. */
export type HandedOut = HandedSecrets | SecretError | ProblemError;

/** Attempts that ask for the same, and so get the same. */
export interface Group {
  readonly use: SecretUse;
  /** Ids of jobs by the number of the attempt. */
  readonly attempts: Record<number, string[]>;
}

/** Puts together the attempts of one queue that name the same secrets; answers the groups, and which each is in. */
export function groupUses(uses: readonly SecretUse[]): { groups: Group[]; groupOf: number[] } {
  const groups: Group[] = [];
  const known = new Map<string, number>();
  const groupOf = uses.map((use) => {
    const key = `${use.workspaceId} ${use.queue} ${use.host} ${use.names.join()}`;
    const at = known.get(key) ?? groups.push({ use, attempts: {} }) - 1;
    known.set(key, at);
    const { attempts } = groups[at] as Group;
    attempts[use.attempt] ??= [];
    attempts[use.attempt]?.push(use.jobId);
    return at;
  });
  return { groups, groupOf };
}

/**
 * What a group gets: all that it names, or why it gets none, which is the first that it cannot have.
 *
 * @param answers of the store, one for each name, in their order
 * @param open decrypts
 */
export function decide(
  { use: { queue, host } }: Group,
  answers: readonly AnsweredSecret[],
  open: (sealed: SealedSecret) => string | UnreadableSecretError | ProblemError,
): HandedOut {
  const values = new Map<string, string>();
  for (const { name, sealed, refused } of answers) {
    if (!sealed) return new SecretError("SECRET_NOT_FOUND", `There is no secret ${name}.`);
    if (refused === "queue") return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be used by the queue ${queue}.`);
    if (refused === "host") return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be sent to the host ${host}.`);
    const value = open(sealed);
    if (value instanceof UnreadableSecretError)
      return new SecretError("SECRET_UNREADABLE", `The secret ${name} cannot be decrypted; give it a new value.`);
    if (typeof value !== "string") return value;
    values.set(name, value);
  }
  return { values, redactor: new Redactor(values) };
}

import type { AttemptError, AuditEventType } from "@tidemill/contract";
import type { NewAuditEvent } from "#audit";
import type { ProblemError, WorkspaceId } from "#kernel";
import { SYSTEM } from "#workspaces";
import type { StoredSecret } from "./access-store.ts";
import { UnreadableSecretError } from "./envelope.ts";

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

/** The values of the secrets that an attempt names, by name. */
export type SecretValues = ReadonlyMap<string, string>;

/** Why an attempt does not get its secrets. */
export class SecretError extends Error {
  override readonly name = "SecretError";
  readonly code: Extract<AttemptError, "SECRET_NOT_FOUND" | "SECRET_NOT_ALLOWED" | "SECRET_UNREADABLE">;

  constructor(code: SecretError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** A secret as it was found: its value, or that it cannot be had, or not by this node, whose keyring lacks its master key. */
export interface FoundSecret {
  readonly stored: StoredSecret;
  readonly value: string | UnreadableSecretError | ProblemError;
}

/** What an attempt gets. `UNAVAILABLE`: not now. */
export type HandedOut = SecretValues | SecretError | ProblemError;

/** What the audit log calls it when a secret is refused; of one that is not there it says nothing. */
const REFUSALS = {
  SECRET_NOT_FOUND: null,
  SECRET_NOT_ALLOWED: "secret.refused",
  SECRET_UNREADABLE: "secret.unreadable",
} as const satisfies Record<SecretError["code"], AuditEventType | null>;

/** Decides what attempts get, and keeps what the audit log is to be told of it: one event for each secret, queue and host. */
export class HandOut {
  readonly #facts = new Map<string, { type: AuditEventType; name: string; use: SecretUse; attempts: Record<string, number> }>();

  /** All that the attempt names, or why it gets none: the first that it cannot have. */
  decide(use: SecretUse, find: (name: string) => FoundSecret | undefined): HandedOut {
    const values = new Map<string, string>();
    for (const name of use.names) {
      const value = valueFor(use, name, find(name));
      if (value instanceof SecretError) this.#tell(REFUSALS[value.code], name, use);
      if (typeof value !== "string") return value;
      values.set(name, value);
    }
    for (const name of use.names) this.#tell("secret.accessed", name, use);
    return values;
  }

  get events(): NewAuditEvent[] {
    return [...this.#facts.values()].map(({ type, name, use: { workspaceId, queue, host }, attempts }) => ({
      workspaceId,
      eventType: type,
      actorId: SYSTEM,
      resourceType: "secret",
      resourceId: name,
      input: { queue, host, attempts },
      output: null,
    }));
  }

  #tell(type: AuditEventType | null, name: string, use: SecretUse): void {
    if (type === null) return;
    const key = `${use.workspaceId} ${type} ${name} ${use.queue} ${use.host}`;
    const fact = this.#facts.get(key) ?? { type, name, use, attempts: {} };
    fact.attempts[use.jobId] = use.attempt;
    this.#facts.set(key, fact);
  }
}

function valueFor({ queue, host }: SecretUse, name: string, found: FoundSecret | undefined): string | SecretError | ProblemError {
  if (!found) return new SecretError("SECRET_NOT_FOUND", `There is no secret ${name}.`);
  const { allowed_queues, allowed_hosts } = found.stored;
  if (allowed_queues && !allowed_queues.includes(queue)) {
    return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be used by the queue ${queue}.`);
  }
  if (allowed_hosts && !allowed_hosts.includes(host)) {
    return new SecretError("SECRET_NOT_ALLOWED", `The secret ${name} may not be sent to the host ${host}.`);
  }
  if (!(found.value instanceof UnreadableSecretError)) return found.value;
  return new SecretError("SECRET_UNREADABLE", `The secret ${name} cannot be decrypted; give it a new value.`);
}

import type { AttemptError, AuditEventType } from "@tidemill/contract";
import type { NewAuditEvent } from "#audit";
import type { ProblemError, WorkspaceId } from "#kernel";
import { SYSTEM } from "#workspaces";
import type { StoredSecret } from "./access-store.ts";
import { UnreadableSecretError } from "./envelope.ts";
import { Redactor } from "./redact.ts";

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

/** A secret as it was found: its value, or that it cannot be had, or not by this node, whose keyring lacks its master key. */
export interface FoundSecret {
  readonly stored: StoredSecret;
  readonly value: string | UnreadableSecretError | ProblemError;
}

/** What an attempt gets. `UNAVAILABLE`: not now. */
export type HandedOut = HandedSecrets | SecretError | ProblemError;

/** What the audit log calls it when a secret is refused; of one that is not there it says nothing. */
const REFUSALS = {
  SECRET_NOT_FOUND: null,
  SECRET_NOT_ALLOWED: "secret.refused",
  SECRET_UNREADABLE: "secret.unreadable",
} as const satisfies Record<SecretError["code"], AuditEventType | null>;

/** Attempts that ask for the same, and so get the same. */
interface Group {
  readonly use: SecretUse;
  readonly outcome: HandedOut;
  /** What the audit log is told, about which secrets. */
  readonly told: { readonly type: AuditEventType; readonly names: readonly string[] } | null;
  /** Ids of jobs by the number of the attempt. */
  readonly attempts: Record<number, string[]>;
}

/** Decides what attempts get, and gathers what the audit log is to be told of it. */
export class HandOut {
  readonly #find: (workspaceId: WorkspaceId, name: string) => FoundSecret | undefined;
  readonly #groups = new Map<string, Group>();

  constructor(find: (workspaceId: WorkspaceId, name: string) => FoundSecret | undefined) {
    this.#find = find;
  }

  /** All that the attempt names, or why it gets none: the first that it cannot have. */
  decide(use: SecretUse): HandedOut {
    const key = `${use.workspaceId} ${use.queue} ${use.host} ${use.names.join()}`;
    const group = this.#groups.get(key) ?? this.#groupFor(use);
    this.#groups.set(key, group);
    group.attempts[use.attempt] ??= [];
    group.attempts[use.attempt]?.push(use.jobId);
    return group.outcome;
  }

  /** One for each secret, queue and host, and what came of it. */
  get events(): NewAuditEvent[] {
    return [...this.#groups.values()].flatMap(({ use: { workspaceId, queue, host }, told, attempts }) =>
      (told?.names ?? []).map((name) => ({
        workspaceId,
        eventType: told?.type as AuditEventType,
        actorId: SYSTEM,
        resourceType: "secret",
        resourceId: name,
        input: { queue, host, attempts },
        output: null,
      })),
    );
  }

  #groupFor(use: SecretUse): Group {
    const values = new Map<string, string>();
    for (const name of use.names) {
      const value = valueFor(use, name, this.#find(use.workspaceId, name));
      if (typeof value === "string") values.set(name, value);
      else return { use, outcome: value, told: refusalTold(value, name), attempts: {} };
    }
    const outcome = { values, redactor: new Redactor(values) };
    return { use, outcome, told: { type: "secret.accessed", names: use.names }, attempts: {} };
  }
}

function refusalTold(refusal: SecretError | ProblemError, name: string): Group["told"] {
  const type = refusal instanceof SecretError ? REFUSALS[refusal.code] : null;
  return type && { type, names: [name] };
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

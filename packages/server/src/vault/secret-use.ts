import type { AttemptError } from "@tidemill/contract";
import type { ProblemError, Timestamp, WorkspaceId } from "#kernel";
import type { Redactor } from "#redaction";

/** An attempt that needs secrets. */
export interface SecretUse {
  readonly workspaceId: WorkspaceId;
  /** The queue of the job. Null: a run or a webhook uses the secrets. */
  readonly queue: string | null;
  /** The workflow of the run. */
  readonly workflow?: string;
  /** The webhook whose delivery uses them. */
  readonly webhook?: string;
  /** Where the request goes. */
  readonly host: string;
  /** The id of the job, the run or the delivery, as the API shows it. */
  readonly jobId: string;
  readonly attempt: number;
  readonly names: readonly string[];
  /** Whether what is kept of the attempt is also searched for former values, which the attempt may have got. */
  readonly withFormer?: boolean;
  /** Set when values are only searched for: then their limits do not matter. */
  readonly onlySearch?: boolean;
}

/** The secrets that an attempt names, and the redactor that removes them from its response. */
export interface ResolvedSecrets {
  /** The values by name. */
  readonly values: ReadonlyMap<string, string>;
  readonly redactor: Redactor;
  /** Further values that the redactor finds: those that the secrets had before. */
  readonly former: readonly string[];
  /** An attempt that began before this time may have got a value that is no longer known. */
  readonly missingBefore: Timestamp;
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

/** What an attempt gets. The problem is `UNAVAILABLE`: try again later. */
export type SecretResolution = ResolvedSecrets | SecretError | ProblemError;

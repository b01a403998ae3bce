import { TidemillError, type TidemillErrorCode } from "@tidemill/sdk";

/** The exit codes of the commands, with what they mean to a script. docs/cli.md is generated from them. */
export const EXIT_CODES = {
  done: { code: 0, means: "Done." },
  failed: {
    code: 1,
    means:
      "Wrong usage, or an error without a code of its own. `workflow check`: a run does not fit. Operator commands use only this code.",
  },
  refused: { code: 3, means: "No service or no key is given, or the key is unknown or does not allow this." },
  notFound: { code: 4, means: "The record that the command names does not exist." },
  conflict: { code: 5, means: "The state of the record does not allow it, or the name is taken." },
  limit: { code: 6, means: "The quota or the rate limit of the workspace is used up." },
  unreachable: { code: 7, means: "The service cannot be reached, or is not available." },
  unsuccessful: {
    code: 8,
    means: "`job watch`, `run watch`: the job or run did not complete. `replay`: the handler did not respond with 2xx.",
  },
  interrupted: { code: 130, means: "Ctrl-C ended the command." },
} as const;

/** Ctrl-C ended a command. The message says what it has done. */
export class InterruptedError extends Error {}

/** Something that a command names does not exist on this machine. */
export class NotFoundError extends Error {}

/** No service or no key is given. */
export class NotSignedInError extends Error {}

type Ending = keyof typeof EXIT_CODES;

const ENDINGS: Partial<Record<TidemillErrorCode, Ending>> = {
  UNAUTHORIZED: "refused",
  FORBIDDEN: "refused",
  PLAN_REQUIRED: "refused",
  NOT_FOUND: "notFound",
  CONFLICT: "conflict",
  INVALID_STATE: "conflict",
  IDEMPOTENCY_MISMATCH: "conflict",
  QUOTA_EXCEEDED: "limit",
  RATE_LIMITED: "limit",
  UNAVAILABLE: "unreachable",
  NO_RESPONSE: "unreachable",
  TIMEOUT: "unreachable",
};

/** The exit code after an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof InterruptedError) return EXIT_CODES.interrupted.code;
  if (error instanceof NotSignedInError) return EXIT_CODES.refused.code;
  if (error instanceof NotFoundError) return EXIT_CODES.notFound.code;
  return EXIT_CODES[(error instanceof TidemillError && ENDINGS[error.code]) || "failed"].code;
}

import type { AttemptResult } from "#engine";
import { systemCode } from "#kernel";

/**
 * How long an attempt waits when the database or the key of a secret is not available, or the node lacks descriptors, memory or a name
 * server. The attempt is not used up. Milliseconds.
 */
export const POSTPONE_MS = 2_000;

/** Errors that mean that the node itself lacks file descriptors, memory or buffers. */
const SHORTAGES = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]);

/** The result of an attempt whose request was not sent for a reason that lies with the node. Null for any other error. */
export function postponementOf(error: unknown): Extract<AttemptResult, { kind: "postponed" }> | null {
  const shortage = isShortage(error);
  return shortage || isLookupNotRun(error) ? { kind: "postponed", waitMs: POSTPONE_MS, ...(shortage && { shortage }) } : null;
}

/**
 * Whether a request could not be sent because the node lacks something, to at least one of the receiver's addresses. EADDRNOTAVAIL does not
 * count: it also stands for an address that this machine can never reach.
 */
const isShortage = (error: unknown): boolean =>
  (error instanceof AggregateError ? error.errors : [error]).some((one) => SHORTAGES.has(systemCode(one)));

/** Whether the name was not looked up. Requests to other hosts can still be sent. */
const isLookupNotRun = (error: unknown): boolean => systemCode(error) === "LOOKUP_NOT_RUN";

import { systemCode } from "#kernel";
import { BlockedAddressError, PrivateNameError } from "#outbound";

/** Errors of a request that occur before its connection is made. */
const BEFORE = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ENOTFOUND",
  "ENODATA",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EAI_NODATA",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether a request that failed may have reached its endpoint. */
export const mayHaveArrived = (error: unknown): boolean =>
  (error instanceof AggregateError ? error.errors : [error]).some(
    (one) => !cameBefore(one) && !(one instanceof BlockedAddressError) && !(one instanceof PrivateNameError),
  );

/** A connection that breaks has some of these codes, too: EHOSTUNREACH, for example, when a host is gone. */
const cameBefore = (error: unknown): boolean => BEFORE.has(systemCode(error)) && !isOfOpenConnection(error);

/** Whether an error occurred while a request was sent, or while its response was read. */
export const isOfOpenConnection = (error: unknown): boolean => {
  const { syscall } = (error ?? {}) as { syscall?: unknown };
  return syscall === "read" || syscall === "write";
};

import { TidemillError } from "./error.ts";
import { CONNECT_TIMEOUT } from "./http/connection.ts";

/** Errors of Node and Bun, and texts of Deno, that occur before anything of a request is sent. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  CONNECT_TIMEOUT,
  "ConnectionRefused",
  "FailedToOpenSocket",
]);
const NEVER_SENT_TEXT = /tcp connect error|dns error/;
/** Errors that end open connections, too, when the other side can no longer be reached. */
const UNREACHABLE = new Set(["EHOSTUNREACH", "ENETUNREACH"]);

/** The error of a request that got no response. */
export function connectionError(url: string, error: unknown): TidemillError {
  const causes = causesOf(error);
  const { message } = causes.at(-1) ?? { message: String(error) };
  return new TidemillError({
    code: "NO_RESPONSE",
    message: `No response from ${url}: ${message || String(codeOf(causes.at(-1)) ?? "the connection failed")}`,
    neverSent: causes.some(isOfOpening),
    cause: error,
  });
}

/** An error and its causes, down to the first one. Node tries several addresses and throws all their errors as one. */
function causesOf(error: unknown): Error[] {
  if (!(error instanceof Error)) return [];
  const inner = error instanceof AggregateError ? error.errors[0] : error.cause;
  return [error, ...causesOf(inner)];
}

function isOfOpening(error: Error): boolean {
  const code = codeOf(error) ?? "";
  const { syscall } = error as { syscall?: string };
  return NEVER_SENT.has(code) || NEVER_SENT_TEXT.test(error.message) || (UNREACHABLE.has(code) && syscall === "connect");
}

const codeOf = (error: unknown): string | undefined => (error as { code?: string } | undefined)?.code;

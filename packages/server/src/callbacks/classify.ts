import { LIMITS, NO_RETRY_HEADER } from "@tidemill/contract";
import type { Answer } from "#dispatch";
import { parseHttpDate } from "#kernel";
import type { Response } from "#outbound";

/** Statuses whose `Retry-After` is heeded. */
const RETRY_AFTER = new Set([429, 502, 503, 504]);
const GONE = 410;
const EXCERPT_CHARACTERS = 200;

/** An attempt that was ended because it took longer than its queue allows. */
export class CallbackTimeoutError extends Error {
  readonly code = "CALLBACK_TIMEOUT";
}

/** What a handler's response means for the attempt. Source: contract §4, Callback. */
export function classify(response: Response, nowMs: number): Answer {
  if (response.kind === "failed") return unreachable(response.error);
  const { status, headers, body } = response;
  if (status >= 200 && status < 300) return { kind: "accepted", status, result: resultOf(headers, body) };
  const redirect = status >= 300 && status < 400;
  return {
    kind: "refused",
    status,
    code: redirect ? "REDIRECT" : "HTTP_STATUS",
    message: redirect ? `The handler answered ${status}; redirects are not followed.` : `The handler answered ${status}${excerptOf(body)}`,
    retryAfterSeconds: RETRY_AFTER.has(status) ? retryAfter(single(headers["retry-after"]), nowMs) : null,
    forGood: status === GONE || single(headers[NO_RETRY_HEADER.toLowerCase()])?.trim().toLowerCase() === "true",
  };
}

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

/** A JSON body of at most 64 KiB, as it came; one that says it is something else is none. */
function resultOf(headers: Record<string, unknown>, body: Buffer | null): string | null {
  if (!body || body.length === 0 || body.length > LIMITS.resultBytes) return null;
  if (!/^application\/(.+\+)?json\b/i.test(String(headers["content-type"] ?? "application/json"))) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return isShallow(JSON.parse(text), LIMITS.jsonDepth) ? text.trim() : null;
  } catch {
    return null;
  }
}

/** Whether a value is nested no deeper than `levels`. */
function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

function excerptOf(body: Buffer | null): string {
  const text = (body ?? Buffer.alloc(0))
    .subarray(0, EXCERPT_CHARACTERS * 4)
    .toString("utf8")
    .trim();
  if (text === "") return ".";
  return `: ${text.length > EXCERPT_CHARACTERS ? `${text.slice(0, EXCERPT_CHARACTERS).toWellFormed()}…` : text}`;
}

/** `Retry-After` in seconds from now: a number of seconds, or an HTTP date. */
function retryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value);
  const atMs = parseHttpDate(value);
  return atMs === null ? null : Math.max(0, (atMs - nowMs) / 1000);
}

const CODES: Record<string, Extract<Answer, { kind: "unreachable" }>["code"]> = {
  CALLBACK_TIMEOUT: "TIMEOUT",
  UND_ERR_CONNECT_TIMEOUT: "TIMEOUT",
  ETIMEDOUT: "TIMEOUT",
  ENOTFOUND: "DNS",
  EAI_AGAIN: "DNS",
  EAI_FAIL: "DNS",
  EAI_NODATA: "DNS",
  BLOCKED_ADDRESS: "BLOCKED_ADDRESS",
};

function unreachable(error: unknown): Answer {
  const { code, message } = error as { code?: string; message?: string };
  // A host with several addresses fails with one error for each; the first has the reason.
  const first = error instanceof AggregateError ? (error.errors[0] as { message?: string } | undefined) : undefined;
  return { kind: "unreachable", code: CODES[code ?? ""] ?? "CONNECTION", message: first?.message ?? message ?? "The connection failed." };
}

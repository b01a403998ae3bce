import { isUtf8 } from "node:buffer";
import { LIMITS, NO_RETRY_HEADER } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { afterSpace, cut, JsonDepthError, JsonLimitError, JsonSyntaxError, JsonValueScan, parseHttpDate, type SlicedWork } from "#kernel";
import { PrivateNameError, type Response } from "#outbound";
import { keepResult, type TextRedactor } from "#redaction";

/** Statuses for which `Retry-After` counts. */
const RETRY_AFTER = new Set([429, 502, 503, 504]);
const GONE = 410;
const TOO_MUCH = "it holds too much to be looked through for secrets";
const NOT_UTF8 = "it is not UTF-8 and cannot be looked through for secrets";
const EXCERPT_CHARACTERS = 200;
const BYTE_ORDER_MARK = Buffer.from("\ufeff");
/** Control characters, which a terminal that prints the error would obey. */
const CONTROLS = /(?![\t\n\r])\p{Cc}/gu;

type Headers = Extract<Response, { kind: "responded" }>["headers"];

/** The attempt took longer than the queue's `callback_timeout`. The message applies if the request was sent. */
export class CallbackTimeoutError extends Error {
  readonly code = "CALLBACK_TIMEOUT";
}

/**
 * The result of an attempt, from the handler's response. Source: contract §4, Callback.
 *
 * @param redactor removes the attempt's secrets from what is kept; null when the attempt used none
 */
export function* classify(response: Response, nowMs: number, redactor: TextRedactor | null): SlicedWork<AttemptResult> {
  if (response.kind === "failed") return yield* unreachable(response, redactor);
  const { status, headers, body } = response;
  if (status >= 200 && status < 300) {
    return { kind: "accepted", status, result: yield* resultOf(headers, body, redactor) };
  }
  const redirect = status >= 300 && status < 400;
  return {
    kind: "refused",
    status,
    code: redirect ? "REDIRECT" : "HTTP_STATUS",
    message: redirect
      ? `The handler answered ${status}; redirects are not followed.`
      : `The handler answered ${status}${yield* excerptOf(headers, body, redactor)}`,
    retryAfterSeconds: RETRY_AFTER.has(status) ? retryAfter(headers["retry-after"], nowMs) : null,
    forGood: status === GONE || single(headers[NO_RETRY_HEADER.toLowerCase()])?.trim().toLowerCase() === "true",
  };
}

const single = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

/**
 * The body as JSON text, as received but without secrets. Null when it is not JSON or has another content type, when it exceeds 64 KiB
 * (before or after redaction) or the limit of depth, and when it cannot be searched for secrets.
 */
function* resultOf(headers: Headers, body: Buffer | null, redactor: TextRedactor | null): SlicedWork<string | null> {
  if (!body || body.length === 0 || body.length > LIMITS.resultBytes) return null;
  if (!isJsonType(headers)) return null;
  const text = yield* jsonIn(body);
  return text === null ? null : yield* keepResult(text, redactor);
}

/** Whether the content type of a body is JSON or missing. */
export const isJsonType = (headers: Headers): boolean =>
  /^application\/(.+\+)?json\b/i.test(String(headers["content-type"] ?? "application/json"));

/** The text of a body that is one JSON value, without white space around it; otherwise null. A byte order mark is left out. */
export function* jsonIn(body: Buffer): SlicedWork<string | null> {
  if (!isUtf8(body)) return null;
  try {
    const start = afterSpace(body, body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0);
    const scan = new JsonValueScan(body, start, LIMITS.jsonDepth);
    while (!scan.advance()) yield;
    return afterSpace(body, scan.at) === body.length ? body.toString("utf8", start, scan.at) : null;
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof JsonDepthError || error instanceof JsonLimitError) return null;
    throw error;
  }
}

/** Whether the body is compressed or otherwise encoded. It is not decoded here. */
const isEncoded = (headers: Headers): boolean => !/^(identity)?$/i.test(single(headers["content-encoding"]) ?? "");

/** The beginning of the body, for the error message. Secrets are removed first: cutting first could leave half of one. */
export function* excerptOf(headers: Headers, body: Buffer | null, redactor: TextRedactor | null): SlicedWork<string> {
  const bytes = body && !isEncoded(headers) ? body : Buffer.alloc(0);
  if (redactor && !isUtf8(bytes)) return `; what it said is left out: ${NOT_UTF8}.`;
  const text = redactor ? yield* redactor.text(bytes.toString("utf8")) : bytes.subarray(0, EXCERPT_CHARACTERS * 4).toString("utf8");
  if (text === null) return `; what it said is left out: ${TOO_MUCH}.`;
  const excerpt = text.trim().replace(CONTROLS, "\ufffd");
  if (excerpt === "") return ".";
  return `: ${cut(excerpt, EXCERPT_CHARACTERS)}`;
}

/** `Retry-After` in seconds from now: a number of seconds, or an HTTP date. */
export function retryAfter(header: string | string[] | undefined, nowMs: number): number | null {
  const value = single(header);
  if (value === undefined) return null;
  if (/^\s*\d+\s*$/.test(value)) return Number(value);
  const atMs = parseHttpDate(value);
  return atMs === null ? null : Math.max(0, (atMs - nowMs) / 1000);
}

const CODES: Record<string, Extract<AttemptResult, { kind: "unreachable" }>["code"]> = {
  CALLBACK_TIMEOUT: "TIMEOUT",
  UND_ERR_CONNECT_TIMEOUT: "TIMEOUT",
  ETIMEDOUT: "TIMEOUT",
  ENOTFOUND: "DNS",
  ENODATA: "DNS",
  EAI_AGAIN: "DNS",
  EAI_FAIL: "DNS",
  EAI_NODATA: "DNS",
  BLOCKED_ADDRESS: "BLOCKED_ADDRESS",
};

/** The error is the same for names of private addresses as for names that do not exist: tenants must not learn which is which. */
const UNRESOLVED = { kind: "unreachable", code: "DNS", message: "The name of the host cannot be resolved.", unbegun: true } as const;

/** The result of a request without a response. */
export function* unreachable(
  { error, unsent }: Extract<Response, { kind: "failed" }>,
  redactor: TextRedactor | null,
): SlicedWork<Extract<AttemptResult, { kind: "unreachable" }>> {
  const { code, message } = error as { code?: string; message?: string };
  if (error instanceof PrivateNameError || CODES[code ?? ""] === "DNS") return UNRESOLVED;
  // A host with several addresses fails with one error per address. The first one gives the reason.
  const first = error instanceof AggregateError ? (error.errors[0] as { message?: string } | undefined) : undefined;
  const hadNoConnection = unsent && error instanceof CallbackTimeoutError;
  const reason = hadNoConnection ? "No connection was made in time." : (first?.message ?? message ?? "The connection failed.");
  const kept = redactor ? yield* redactor.text(reason) : reason;
  return {
    kind: "unreachable",
    code: CODES[code ?? ""] ?? "CONNECTION",
    message: kept ?? `The reason is left out: ${TOO_MUCH}.`,
    ...(unsent && { unbegun: true as const }),
  };
}

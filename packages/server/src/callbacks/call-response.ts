import { isUtf8 } from "node:buffer";
import { LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import type { SlicedWork } from "#kernel";
import type { Headers, Response } from "#outbound";
import type { Redactor } from "#redaction";
import { excerptOf, isJsonType, jsonIn, retryAfter, unreachable } from "./classify.ts";

type Failed = Extract<AttemptResult, { kind: "callFailed" }>;

/** Statuses below 500 that may be different the next time: the request took too long, came too early, or was one of too many. */
const RETRIED = new Set([408, 425, 429]);
const MEBIBYTE = 1024 * 1024;

/**
 * The result of an attempt to make a call. A status from 200 to 299 is a success, whose output is `{ status, headers, body }`.
 *
 * @param redactor removes the attempt's secrets from what is kept; null when the attempt used none
 */
export function* readCallResponse(response: Response, nowMs: number, redactor: Redactor | null): SlicedWork<AttemptResult> {
  if (response.kind === "failed") {
    const { code, message } = yield* unreachable(response, redactor);
    return failed({ code, message, forGood: code === "BLOCKED_ADDRESS" });
  }
  const { status, headers, body } = response;
  const redirect = status >= 300 && status < 400;
  if (redirect) return failed({ code: "REDIRECT", status, message: `The response has the status ${status}; redirects are not followed.` });
  if (status >= 200 && status < 300) return yield* outputOf(status, headers, body, redactor);
  const isRetried = status >= 500 || RETRIED.has(status);
  return failed({
    message: `The response has the status ${status}${yield* excerptOf(headers, body, redactor)}`,
    status,
    retryAfterSeconds: isRetried ? retryAfter(headers["retry-after"], nowMs) : null,
    forGood: !isRetried,
  });
}

const failed = (given: Partial<Failed> & Pick<Failed, "message">): Failed => ({
  kind: "callFailed",
  code: "HTTP_STATUS",
  status: null,
  retryAfterSeconds: null,
  forGood: true,
  ...given,
});

/** The output as JSON text: with the body as JSON if it is JSON, otherwise as text. */
function* outputOf(status: number, headers: Headers, body: Buffer | null, redactor: Redactor | null): SlicedWork<AttemptResult> {
  const unusable = (why: string) => failed({ status, message: `The response has the status ${status}, but ${why}.` });
  if (body === null) return unusable(`its body is longer than ${LIMITS.payloadBytes / MEBIBYTE} MiB`);
  if (!isUtf8(body)) return unusable("its body is not UTF-8 text");
  const json = isJsonType(headers) && body.length > 0 ? yield* jsonIn(body) : null;
  const shown = JSON.stringify(Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), textOf(value)])));
  const whole = `{"status":${status},"headers":${shown},"body":${json ?? storable(body)}}`;
  yield;
  const output = redactor ? yield* redactor.json(whole, LIMITS.payloadBytes) : whole;
  if (output === null) return unusable("it cannot be searched for secrets");
  if (Buffer.byteLength(output) > LIMITS.payloadBytes) return unusable(`it is longer than ${LIMITS.payloadBytes / MEBIBYTE} MiB as JSON`);
  return { kind: "accepted", status, result: output };
}

const textOf = (value: string | string[] | undefined): string => (Array.isArray(value) ? value.join(", ") : (value ?? ""));

const storable = (body: Buffer): string => JSON.stringify(body.toString("utf8"));

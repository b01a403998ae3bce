import { isUtf8 } from "node:buffer";
import { LIMITS } from "@tidemill/contract";
import { classify } from "#callbacks";
import type { AttemptResult } from "#engine";
import { cut, type SlicedWork } from "#kernel";
import type { Response } from "#outbound";
import type { Redactor } from "#redaction";
import type { DeliveryReport } from "./delivery.ts";

/** A longer body of a response is not kept. */
export const MAX_RESPONSE_BYTES = LIMITS.resultBytes;

/** NUL, which PostgreSQL does not store in texts, and other characters that a terminal would obey. */
const CONTROLS = /(?![\t\n\r])\p{Cc}/gu;

/**
 * The result of an attempt, with the beginning of the response's body in its report.
 *
 * @param redactor takes the attempt's secrets out of what is kept; null when the attempt used none
 */
export function* readDeliveryResponse(
  response: Response,
  nowMs: number,
  redactor: Redactor | null,
  durationMs: number,
): SlicedWork<AttemptResult> {
  const result = yield* classify(response, nowMs, redactor);
  const report = reportOf(response.kind === "responded" ? yield* bodyOf(response, redactor) : null, durationMs);
  if (result.kind === "accepted") return { ...result, result: null, report };
  return result.kind === "refused" || result.kind === "unreachable" ? { ...result, report } : result;
}

export const reportOf = (body: string | null, durationMs: number): string =>
  JSON.stringify({ body, durationMs: Math.round(durationMs * 100) / 100 } satisfies DeliveryReport);

/** Secrets are taken out first: cutting first could leave half of one. */
function* bodyOf({ body }: Extract<Response, { kind: "responded" }>, redactor: Redactor | null): SlicedWork<string | null> {
  if (!body || body.length === 0 || !isUtf8(body)) return null;
  const whole = body.toString("utf8");
  const text = redactor ? yield* redactor.text(whole) : whole;
  return text && cut(text.replace(CONTROLS, "\ufffd"), LIMITS.webhookResponseCharacters);
}

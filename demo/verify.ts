import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const TOLERANCE_SECONDS = 300;

/**
 * Whether a callback is signed with `secret`, by the public description alone: `v1,` and the base64 of HMAC-SHA256 over
 * `<job id>.<timestamp>.<raw body>`. Uses none of Tidemill's code, so that it proves what a handler of yours would see.
 *
 * @returns null when all is right, else what is wrong
 */
export function whatIsWrong(headers: IncomingHttpHeaders, rawBody: Buffer, secret: string): string | null {
  const id = headers["x-service-job-id"];
  const timestamp = headers["x-service-timestamp"];
  const signature = headers["x-service-signature"];
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signature !== "string") return "a header is missing";
  if (!/^\d+$/.test(timestamp)) return "the timestamp is no number";
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return "the timestamp is too far from now";
  const expected = Buffer.from(`v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(rawBody).digest("base64")}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected) ? null : "the signature does not match";
}

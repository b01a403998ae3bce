import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const TOLERANCE_SECONDS = 300;

/**
 * Checks that a callback is signed with `secret`. The signature is `v1,` and the base64 of HMAC-SHA256 over
 * `<job id>.<timestamp>.<raw body>`. This uses no code of Tidemill, to show that your handler can do the same.
 *
 * @returns null if the signature is valid, otherwise what is wrong with it
 */
export function findSignatureFault(headers: IncomingHttpHeaders, rawBody: Buffer, secret: string): string | null {
  const id = headers["x-service-job-id"];
  const timestamp = headers["x-service-timestamp"];
  const signature = headers["x-service-signature"];
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signature !== "string") return "a header is missing";
  if (!/^\d+$/.test(timestamp)) return "the timestamp is not a number";
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return "the timestamp is too far from now";
  const expected = Buffer.from(`v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.`).update(rawBody).digest("base64")}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected) ? null : "the signature does not match";
}

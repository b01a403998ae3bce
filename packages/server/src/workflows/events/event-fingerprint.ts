import { createHash } from "node:crypto";
import { canonicalJson, type SlicedWork } from "#kernel";

/**
 * SHA-256 of an event's name and data, in hexadecimal. As for jobs, white space and the order of members make no difference. Neither does
 * the time of the event: an event that is sent again may have another time.
 */
export function* fingerprintOfEvent(name: string, data: string): SlicedWork<string> {
  const digest = createHash("sha256").update(`${name}\n`);
  yield* canonicalJson(data, (bytes) => digest.update(bytes));
  return digest.digest("hex");
}

import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import type { Redactor } from "./redact.ts";

/**
 * The result as it is stored, with secrets removed. Null if it is then too long, or cannot be searched for secrets.
 *
 * @param maxBytes the maximum length: by default that of a job's result
 */
export function* keepResult(
  result: string,
  redactor: Pick<Redactor, "json"> | null,
  maxBytes: number = LIMITS.resultBytes,
): SlicedWork<string | null> {
  if (!redactor) return result;
  const kept = yield* redactor.json(result, maxBytes);
  return kept !== null && Buffer.byteLength(kept) <= maxBytes ? kept : null;
}

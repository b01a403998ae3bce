import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import type { Redactor } from "./redact.ts";

/**
 * A result as it is stored, without secrets. Null when it is too long then, or cannot be searched for them.
 *
 * @param maxBytes how long it may be: by default as long as that of a job
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

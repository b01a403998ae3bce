import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import type { Redactor } from "./redact.ts";

/** A job's result as it is stored, without secrets. Null when it is too long then, or cannot be searched for them. */
export function* keepResult(result: string, redactor: Pick<Redactor, "json"> | null): SlicedWork<string | null> {
  if (!redactor) return result;
  const kept = yield* redactor.json(result);
  return kept !== null && Buffer.byteLength(kept) <= LIMITS.resultBytes ? kept : null;
}

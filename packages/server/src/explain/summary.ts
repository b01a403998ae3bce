import type { Decision, GateName } from "@tidemill/contract";
import { momentMs, toMoment } from "#kernel";
import { mayProbe, waits } from "./holds.ts";
import { capitalize, countJobs, isOfLine, lineBefore, momentIn, reasonOf } from "./reasons.ts";
import type { Found } from "./store.ts";
import { ago, fromNow } from "./times.ts";

/**
 * Why a job is not running, in a sentence or two, by the database's time.
 *
 * @param heldBy the gates that hold it
 * @param startMs when it is estimated to start, in milliseconds since 1970; null where nobody can know
 */
export function summarize(found: Found, heldBy: readonly GateName[], startMs: number | null): string {
  if (!waits(found)) return standingOf(found);
  const reasons = heldBy.flatMap((gate) => (gate === "state" || gate === "quota" ? [] : [reasonOf(gate, found)]));
  const why = reasons.length > 0 ? `Not running: ${listOf(reasons)}.` : placeOf(found);
  const start = startMs === null || startMs <= momentMs(found.now) ? null : toMoment(startMs);
  const isSaid = heldBy.some((gate) => momentIn(gate, found) === start);
  const more = [
    ...(found.ahead > 0 && heldBy.some((gate) => isOfLine(gate, found)) ? [lineBefore(found)] : []),
    ...(start === null || isSaid ? [] : [`it should start ${fromNow(start, found.now)}`]),
  ];
  return more.length === 0 ? why : `${why} ${capitalize(listOf(more))}.`;
}

/** What a job that has started or finished is told. */
export function standingOf({ state, attempt, attempts, started_at, finished_at, approval, now }: Found): string {
  const at = finished_at === null ? "" : ` ${ago(finished_at, now)}`;
  switch (state) {
    case "active":
      return `Running: attempt ${attempt} of ${attempts} started ${ago(started_at ?? now, now)}.`;
    case "completed":
      return `Completed${at}, on attempt ${attempt} of ${attempts}.`;
    case "failed":
      return `Failed${at}, after ${attempt} of ${attempts} attempts. It is in the dead-letter queue.`;
    case "cancelled":
      return `Cancelled${at}, ${attempt === 0 ? "before its first attempt" : `after ${attempt} of ${attempts} attempts`}.`;
    case "rejected": {
      const by = approval === null ? null : (JSON.parse(approval) as Decision).by;
      return `Rejected${at}${by ? ` by ${by}` : ""}.`;
    }
    default:
      return "It has not finished.";
  }
}

function placeOf(found: Found): string {
  if (mayProbe(found)) return "Next in line: it goes out as the probe of an open circuit.";
  if (found.ahead === 0) return "Next in line: it starts as soon as a node has room.";
  return `Waiting in line behind ${countJobs(found.ahead, found.ahead_is_more)}.`;
}

/** "a", "a, and b", "a, b, and c". */
function listOf(parts: readonly string[]): string {
  const [last = "", ...before] = parts.toReversed();
  return before.length === 0 ? last : `${before.toReversed().join(", ")}, and ${last}`;
}

import type { Decision, GateName } from "@tidemill/contract";
import { momentMs, toMoment } from "#kernel";
import { mayProbe, waits } from "./holds.ts";
import { busyWorkers, capitalize, countJobs, dependsOnLine, describeLineAhead, momentOfReason, reasonOf, wordsOf } from "./reasons.ts";
import type { ExplainedJob } from "./store.ts";
import { ago, fromNow } from "./times.ts";

/**
 * Says in a sentence or two why a job is not running. Times are the database's.
 *
 * @param heldBy the gates that hold it
 * @param startMs when it is estimated to start, in milliseconds since 1970; null when that cannot be known
 */
export function summarize(job: ExplainedJob, heldBy: readonly GateName[], startMs: number | null): string {
  if (!waits(job)) return describeState(job);
  const reasons = heldBy.flatMap((gate) => (gate === "state" || gate === "quota" ? [] : [reasonOf(gate, job)]));
  return summarizeReasons(job, reasons, heldBy, startMs);
}

/**
 * The summary of what waits.
 *
 * @param reasons why it does, as parts of a sentence
 */
export function summarizeReasons(
  job: ExplainedJob,
  reasons: readonly string[],
  heldBy: readonly GateName[],
  startMs: number | null,
): string {
  const why = reasons.length > 0 ? `Not running: ${joinList(reasons)}.` : describePlace(job);
  const start = startMs === null || startMs <= momentMs(job.now) ? null : toMoment(startMs);
  const isNamed = heldBy.some((gate) => momentOfReason(gate, job) === start);
  const more = [
    ...(job.ahead > 0 && heldBy.some((gate) => dependsOnLine(gate, job)) ? [describeLineAhead(job)] : []),
    ...(start === null || isNamed ? [] : [`it should start ${fromNow(start, job.now)}`]),
  ];
  return more.length === 0 ? why : `${why} ${capitalize(joinList(more))}.`;
}

/** Describes a job that has started or finished. */
export function describeState({ state, attempt, attempts, started_at, finished_at, approval, now }: ExplainedJob): string {
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

function describePlace(job: ExplainedJob): string {
  if (mayProbe(job)) return "Next in line: it goes out as the probe of an open circuit.";
  const busy = job.all_workers_busy ? ` ${busyWorkers(job)}` : "";
  if (job.ahead > 0) return `Waiting in line behind ${countJobs(job, job.ahead, job.ahead_is_more)}.${busy}`;
  if (job.has_callback_url) return "Next in line: it starts as soon as a node has room.";
  const seen = job.worker_seen_at === null ? "" : ` One last called ${ago(job.worker_seen_at, job.now)}.`;
  return `Next in line: it starts as soon as a worker asks for ${wordsOf(job).asked} and has room.${busy || seen}`;
}

/** "a", "a, and b", "a, b, and c". */
export function joinList(parts: readonly string[]): string {
  const [last = "", ...before] = parts.toReversed();
  return before.length === 0 ? last : `${before.toReversed().join(", ")}, and ${last}`;
}

import type { Decision, GateName } from "@tidemill/contract";
import { MAX_LOSSES } from "#engine";
import { momentMs, toMoment } from "#kernel";
import { mayProbe, waits } from "./holds.ts";
import {
  attemptOf,
  busyWorkers,
  capitalize,
  countJobs,
  dependsOnLine,
  describeJobError,
  describeLineAhead,
  hasNode,
  momentOfReason,
  reasonOf,
  wordsOf,
} from "./reasons.ts";
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
  const sentences = [why, ...(more.length === 0 ? [] : [`${capitalize(joinList(more))}.`]), ...(lastFailure(job) ?? [])];
  return sentences.join(" ");
}

/** Why the attempt before the one that a job waits for did not succeed, as a sentence. */
export function lastFailure(job: ExplainedJob): string[] | null {
  const error = job.kind === "queue" && job.state === "delayed" && job.attempt > 0 ? describeJobError(job) : null;
  return error === null ? null : [`The last attempt failed with ${error}`];
}

/** Describes a job that has started or finished. */
export function describeState(job: ExplainedJob): string {
  const { state, attempt, started_at, finished_at, approval, now } = job;
  const { number, allowed } = attemptOf(job);
  const at = finished_at === null ? "" : ` ${ago(finished_at, now)}`;
  switch (state) {
    case "active":
      return describeActive(job, `attempt ${number} of ${allowed} started ${ago(started_at ?? now, now)}.`);
    case "completed":
      return `Completed${at}, on attempt ${number} of ${allowed}.`;
    case "failed": {
      const error = describeJobError(job);
      const why = error === null ? "" : ` The error was ${error}`;
      return `Failed${at}, after ${number} of ${allowed} attempts.${why} It is in the dead-letter queue.`;
    }
    case "cancelled":
      return `Cancelled${at}, ${attempt === 0 ? "before its first attempt" : `after ${number} of ${allowed} attempts`}.`;
    case "rejected": {
      const by = approval === null ? null : (JSON.parse(approval) as Decision).by;
      return `Rejected${at}${by ? ` by ${by}` : ""}.`;
    }
    default:
      return "It has not finished.";
  }
}

/**
 * Describes a job that is active: whether its claim is still valid, and otherwise what becomes of it.
 *
 * @param started a sentence that says since when
 */
export function describeActive(job: ExplainedJob, started: string): string {
  const noNode = hasNode(job) ? "" : ` ${capitalize(reasonOf("nodes", job))}.`;
  if (!job.claim_ended) {
    return `Running: ${started}${noNode}${noNode && job.worker !== null ? " The worker cannot report the outcome until one is." : ""}`;
  }
  const ended = job.claim_ends_at === null ? "has ended" : `ended ${ago(job.claim_ends_at, job.now)}`;
  const node = hasNode(job) ? "A node" : "The next node that starts";
  const { job: unit } = wordsOf(job);
  if (job.worker !== null) {
    return `${capitalize(started)} The lease of its worker "${job.worker}" ${ended}.${noNode} ${node} ends the attempt as failed (LEASE_EXPIRED).`;
  }
  const losses = (job.node_losses ?? 0) + 1;
  const next =
    losses >= MAX_LOSSES
      ? `moves it to the dead-letter queue, because ${losses} nodes in a row were lost with it`
      : `takes the ${unit} back and starts it again. The lost attempt does not count`;
  return `${capitalize(started)} Its node was lost: the lease ${ended}.${noNode} ${node} ${job.kind === "queue" || losses < MAX_LOSSES ? next : "ends the attempt as failed (NODE_LOST)"}.`;
}

function describePlace(job: ExplainedJob): string {
  if (mayProbe(job)) return "Next in line: it goes out as the probe of an open circuit.";
  const busy = job.all_workers_busy && !job.has_callback_url ? ` ${busyWorkers(job)}` : "";
  if (job.ahead > 0) return `Waiting in line behind ${countJobs(job, job.ahead, job.ahead_is_more)}.${busy}`;
  if (job.has_callback_url) return "Next in line: it starts as soon as a node has room.";
  if (busy) return `Next in line: it starts as soon as a worker has room for it.${busy}`;
  const seen = job.worker_seen_at === null ? "" : ` One last called ${ago(job.worker_seen_at, job.now)}.`;
  return `Next in line: it starts as soon as a worker asks for ${wordsOf(job).asked} and has room.${seen}`;
}

/** "a", "a, and b", "a, b, and c". */
export function joinList(parts: readonly string[]): string {
  const [last = "", ...before] = parts.toReversed();
  return before.length === 0 ? last : `${before.toReversed().join(", ")}, and ${last}`;
}

import type { GateName } from "@tidemill/contract";
import { momentMs } from "#kernel";
import { waits } from "./holds.ts";
import type { ExplainedJob } from "./store.ts";

const MINUTE_MS = 60_000;

/**
 * Estimates when the job will start if everything continues as now. Each gate that holds the job is estimated by itself; the latest one
 * counts.
 *
 * - `due`: at its `run_at`.
 * - `approval`: when its approval times out, if the queue then approves.
 * - `circuit`: at the next probe, which may close the circuit.
 * - `key_concurrency`, `queue_concurrency`: when enough jobs have finished, at the pace of the last minute. The pace of a key is its share
 *   of the queue's pace: all jobs in flight share that equally, and the key counts with its limit. While the job is not due, a gate whose
 *   pace is not known does not count.
 * - `rate_limit`: when the jobs before it have started and one more start is free. Starts become free in the order in which they were used.
 * - No gate holds it: now if it is first in line, otherwise when the jobs before it have finished at the pace of the last minute. While all
 *   workers hold jobs, one more has to finish.
 *
 * @returns milliseconds since 1970, never before now. Null when it cannot be known: when a pause, a plan, a missing node or handler or a
 *   pending approval holds the job, or the workspace's share is in use; when it is due, has to wait for others, and no job finished in the
 *   last minute; or when the job has already started or finished
 */
export function estimateStart(job: ExplainedJob, heldBy: readonly GateName[]): number | null {
  if (!waits(job)) return null;
  const nowMs = momentMs(job.now);
  const estimates = heldBy.length > 0 ? heldBy.map((gate) => ESTIMATES[gate](job, nowMs)) : [whenFirstInLine(job, nowMs)];
  const isAhead = job.run_at_is_ahead && heldBy.includes("due");
  const counted = isAhead ? estimates.filter((at, index) => at !== null || !isForNow(heldBy[index])) : estimates;
  return counted.includes(null) ? null : Math.max(nowMs, ...(counted as number[]));
}

/** Whether a gate holds a job only until some of the jobs that run now have finished. */
const isForNow = (gate: GateName | undefined): boolean => gate === "key_concurrency" || gate === "queue_concurrency";

const unknown = () => null;

const ESTIMATES: Record<GateName, (job: ExplainedJob, nowMs: number) => number | null> = {
  state: unknown,
  nodes: unknown,
  due: ({ run_at }) => momentMs(run_at),
  approval: ({ decide_at, approval_timeout, on_timeout }) =>
    decide_at !== null && approval_timeout !== null && on_timeout === "approve" ? momentMs(decide_at) : null,
  queue_paused: unknown,
  plan: unknown,
  handler: unknown,
  circuit: ({ probe_at }) => (probe_at === null ? null : momentMs(probe_at)),
  key_concurrency: (job, nowMs) => {
    const { key_ahead, key_active, concurrency_per_key, lane_active } = job;
    const share = lane_active === 0 ? 0 : Math.min(1, concurrency_per_key / lane_active);
    return afterFinished(key_ahead + key_active + 1 - concurrency_per_key, paceOf(job) * share, nowMs);
  },
  queue_concurrency: (job, nowMs) => afterFinished(job.ahead + 1 + (job.in_flight ?? 0) - (job.concurrency ?? 0), paceOf(job), nowMs),
  rate_limit: whenStartIsFree,
  workspace_share: unknown,
  quota: unknown,
};

const whenFirstInLine = (job: ExplainedJob, nowMs: number): number | null =>
  afterFinished(job.ahead + (job.all_workers_busy ? 1 : 0), paceOf(job), nowMs);

/** Jobs that finish in a minute, at the pace of the last minute, or of the time since the lane was created. */
const paceOf = ({ finished_last_minute, measured_seconds }: ExplainedJob): number => (finished_last_minute * 60) / measured_seconds;

/** When `jobs` more jobs will have finished. */
function afterFinished(jobs: number, perMinute: number, nowMs: number): number | null {
  if (jobs <= 0) return nowMs;
  return perMinute > 0 ? Math.ceil(nowMs + (jobs / perMinute) * MINUTE_MS) : null;
}

/**
 * When a start is free for the job. The jobs before it take the starts that are free now. So starts become free in the same order, in the
 * same number and with the same gaps, in each later span. If the limit was lowered, the starts above it do not become free for any job.
 */
function whenStartIsFree({ expiries, started, starts_free, rate_max, rate_seconds, ahead }: ExplainedJob, nowMs: number): number | null {
  if (started === null || starts_free === null || rate_max === null || rate_seconds === null) return null;
  const spanMs = rate_seconds * 1000;
  const turn = ahead - starts_free;
  const spans = Math.floor(turn / rate_max);
  let remaining = started + starts_free - rate_max + (turn % rate_max);
  for (const [ms, starts] of expiries) {
    if (remaining < starts) return Math.ceil(ms + spans * spanMs);
    remaining -= starts;
  }
  return nowMs + (spans + 1) * spanMs;
}

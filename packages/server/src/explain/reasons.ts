import type { GateName, JobShare, LastError } from "@tidemill/contract";
import { showJobId } from "#jobs";
import type { JobId, RunId, Timestamp } from "#kernel";
import { showRunId } from "#workflows";
import { type HoldingGate, mayProbe } from "./holds.ts";
import type { ExplainedJob } from "./store.ts";
import { ago, fromNow, since } from "./times.ts";

/** How what is explained is called. */
interface Words {
  readonly lane: string;
  readonly job: string;
  readonly jobs: string;
  /** Where nodes send it, and what a worker asks for. */
  readonly address: string;
  readonly asked: string;
}

const WORDS: Record<ExplainedJob["kind"], Words> = {
  queue: { lane: "queue", job: "job", jobs: "jobs", address: "callback_url", asked: "jobs" },
  workflow: { lane: "workflow", job: "execution", jobs: "executions", address: "endpoint_url", asked: "runs" },
};

export const wordsOf = ({ kind }: Pick<ExplainedJob, "kind">): Words => WORDS[kind];

/**
 * Why a gate holds a job, as part of a sentence. It contains no comma, so that several can be joined by commas.
 * Source: contract §4, explain.
 */
export const reasonOf = (gate: HoldingGate, job: ExplainedJob): string => REASONS[gate](job);

const REASONS: Record<HoldingGate, (job: ExplainedJob) => string> = {
  nodes: ({ node_seen_at, now }) =>
    node_seen_at === null ? "no node is alive" : `no node is alive and the last one renewed its lease ${ago(node_seen_at, now)}`,

  due: (job) => {
    const { run_at, run_at_is_ahead, attempt, now } = job;
    const { number, allowed } = attemptOf(job, 1);
    const subject = attempt === 0 ? "it" : `attempt ${number} of ${allowed}`;
    if (run_at_is_ahead) return `${subject} is due ${fromNow(run_at, now)}`;
    return hasNode(job) ? `${subject} is due now and about to become waiting` : `${subject} was due ${ago(run_at, now)}`;
  },

  approval: (job) => {
    const { created_at, decide_at, approval_timeout, on_timeout, now } = job;
    const waits = `it has waited for approval since it was enqueued ${ago(created_at, now)}`;
    if (decide_at === null || approval_timeout === null) return waits;
    const decided = on_timeout === "approve" ? "approved" : "rejected";
    const when = fromNow(decide_at, now);
    if (when !== "now") return `${waits} and is ${decided} ${when} if nobody decides`;
    return `nobody decided in time and it ${hasNode(job) ? `is about to be ${decided}` : `will be ${decided}`}`;
  },

  queue_paused: ({ paused_at, paused_by, now }) =>
    paused_at === null ? "the queue is paused" : `the queue was paused ${ago(paused_at, now)} by ${paused_by}`,

  plan: ({ plan }) => `the plan ${plan} does not include callbacks`,

  handler: (job) => {
    const { lane, address, asked } = wordsOf(job);
    const { worker_seen_at, now } = job;
    return worker_seen_at === null
      ? `the ${lane} has neither ${address === "endpoint_url" ? "an" : "a"} ${address} nor a worker`
      : `no worker has asked for its ${asked} for ${since(worker_seen_at, now)}`;
  },

  circuit: (job) => {
    const { probe_at, probe_is_due, now } = job;
    const probe =
      probe_is_due || probe_at === null
        ? `${wordsOf(job).job === "job" ? "a job" : "an execution"} before it is the next probe`
        : `the next probe goes out ${fromNow(probe_at, now)}`;
    return `${openCircuit(job)} and ${probe}`;
  },

  key_concurrency: (job) => {
    const { key_active, key_ahead, key_ahead_is_more, concurrency_per_key, has_callback_url } = job;
    if (key_active + key_ahead < concurrency_per_key)
      return `it is next for its concurrencyKey and about to start waiting for a ${has_callback_url ? "node" : "worker"}`;
    const oldest = describeOldest(job, key_active, job.oldest_of_key, job.oldest_of_key_at);
    const active = `its concurrencyKey has ${key_active} of ${concurrency_per_key} allowed jobs active${oldest}`;
    return key_ahead === 0 ? active : `${active} and ${countJobs(job, key_ahead, key_ahead_is_more)} ahead of it`;
  },

  queue_concurrency: (job) => {
    const { lane, jobs } = wordsOf(job);
    const oldest = describeOldest(job, job.in_flight ?? 0, job.oldest_of_lane, job.oldest_of_lane_at);
    return `the ${lane} has ${job.in_flight} of ${job.concurrency} allowed ${jobs} in flight${oldest}`;
  },

  rate_limit: ({ started, rate_max, rate_seconds, starts_free, starts_at, now }) => {
    const used = `the queue has started ${started} of ${rate_max} allowed attempts in the last ${rate_seconds} s`;
    return starts_free === 0 && starts_at !== null ? `${used} and may start the next ${fromNow(starts_at, now)}` : used;
  },

  workspace_share: ({ shares_used_up }) =>
    `your workspace's share of this node's ${(shares_used_up ?? []).map((share) => SHARE_WORDS[share]).join(" and ")} is in use`,
};

const SHARE_WORDS: Record<JobShare, string> = { delivery_slots: "delivery slots", payload_memory: "memory for payloads" };

/** Whether a node can do what is due. */
export const hasNode = ({ nodes_alive }: Pick<ExplainedJob, "nodes_alive">): boolean => nodes_alive > 0;

/** The number of an attempt, `more` after the newest one, among those that count, and how many of them are allowed. */
export const attemptOf = (
  { attempt, attempts, spared }: Pick<ExplainedJob, "attempt" | "attempts" | "spared">,
  more = 0,
): { readonly number: number; readonly allowed: number } => ({ number: attempt - spared + more, allowed: attempts - spared });

/** The id of an active job of the lane, as callers know it: that of the run which it executes, if it is a workflow's. */
export const showActive = ({ kind }: Pick<ExplainedJob, "kind">, id: JobId): string =>
  kind === "queue" ? showJobId(id) : showRunId(id as string as RunId);

/** Which of the active jobs has been so longest, with a space before it. Empty if it is not known. */
const describeOldest = (job: ExplainedJob, active: number, id: JobId | null, startedAt: Timestamp | null): string =>
  id === null || startedAt === null
    ? ""
    : ` (${showActive(job, id)} has run ${active === 1 ? "for" : "longest:"} ${since(startedAt, job.now)})`;

/** "All workers that ask for the queue's jobs hold some already." */
export const busyWorkers = (job: Pick<ExplainedJob, "kind">): string =>
  `All workers that ask for the ${wordsOf(job).lane}'s ${wordsOf(job).asked} hold some already.`;

/** The workers of a lane, if it has any. */
export const describeWorkers = (job: ExplainedJob): string =>
  job.all_workers_busy ? busyWorkers(job) : `Workers ask for the ${wordsOf(job).lane}'s ${wordsOf(job).asked}.`;

export const openCircuit = ({ last_error }: ExplainedJob): string => {
  if (last_error === null) return "the circuit is open";
  const { code, status } = JSON.parse(last_error) as LastError;
  return `the circuit is open (${code}${status === null ? "" : ` ${status}`})`;
};

const MAX_ERROR = 200;

/** What an error says, on one line, as the end of a sentence. */
export function describeError(name: string, message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  const short = line.length > MAX_ERROR ? `${line.slice(0, MAX_ERROR)}…` : line.replace(/[.!]$/, "");
  return short === "" ? `${name}.` : `${name}: ${short}.`;
}

/** Why the newest unsuccessful attempt of a job did not succeed, as the end of a sentence. Null: there is none. */
export function describeJobError({ job_error }: ExplainedJob): string | null {
  if (job_error === null) return null;
  const { code, message } = JSON.parse(job_error) as LastError;
  return describeError(code, message);
}

/** The time that the reason of a gate names, if it names one. */
export function momentOfReason(gate: GateName, { run_at, decide_at, probe_at, starts_free, starts_at }: ExplainedJob): Timestamp | null {
  if (gate === "due") return run_at;
  if (gate === "approval") return decide_at;
  if (gate === "circuit") return probe_at;
  return gate === "rate_limit" && starts_free === 0 ? starts_at : null;
}

/** Whether the gate holds the job because of its place in line. */
export const dependsOnLine = (gate: GateName, job: ExplainedJob): boolean =>
  gate === "queue_concurrency" || gate === "rate_limit" || (gate === "circuit" && !mayProbe(job));

/** "1 job", "4 jobs", "more than 10000 jobs"; "4 executions" of a workflow. */
export function countJobs(of: Pick<ExplainedJob, "kind">, count: number, isMore: boolean): string {
  const { job, jobs } = wordsOf(of);
  return `${isMore ? "more than " : ""}${count} ${count === 1 && !isMore ? job : jobs}`;
}

/** "4 jobs go before it". */
export const describeLineAhead = (job: ExplainedJob): string =>
  `${countJobs(job, job.ahead, job.ahead_is_more)} ${job.ahead === 1 && !job.ahead_is_more ? "goes" : "go"} before it`;

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

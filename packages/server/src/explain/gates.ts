import { type Decision, type ExplainedGate, GATES, type GateName, type JobShare, type LastError, planHas } from "@tidemill/contract";
import type { JobId, Timestamp } from "#kernel";
import type { readQuota } from "#usage";
import { holds, mayProbe, waits } from "./holds.ts";
import { capitalize, dependsOnLine, describeLineAhead, describeWorkers, openCircuit, reasonOf, showActive } from "./reasons.ts";
import type { ExplainedJob } from "./store.ts";
import { describeState, lastFailure } from "./summary.ts";

export type Quota = Awaited<ReturnType<typeof readQuota>>;

type Description<Name extends GateName> = Omit<Extract<ExplainedGate, { gate: Name }>, "gate" | "holds">;
/** The message and figures of a gate. The message applies while the gate does not hold the job. Otherwise the reason replaces it. */
type Descriptions = { [Name in GateName]: (job: ExplainedJob, quota: Quota) => Description<Name> };

/** All gates in their order: whether each holds the job, and the figures that decide it. */
export const gatesOf = (job: ExplainedJob, quota: Quota): ExplainedGate[] =>
  GATES.map((gate) => {
    const held = holds(gate, job);
    const { message, figures } = DESCRIPTIONS[gate](job, quota);
    return { gate, holds: held, message: held ? heldMessage(gate, job) : message, figures } as ExplainedGate;
  });

/** Why a gate holds a job, as sentences. */
export function heldMessage(gate: GateName, job: ExplainedJob): string {
  if (gate === "state" || gate === "quota") return describeState(job);
  const failure = gate === "due" ? lastFailure(job) : null;
  const reason = [`${capitalize(reasonOf(gate, job))}.`, ...(failure ?? [])].join(" ");
  return job.ahead > 0 && dependsOnLine(gate, job) ? `${reason} ${capitalize(describeLineAhead(job))}.` : reason;
}

/** How many nodes are alive, as a sentence. */
export function describeNodes(job: ExplainedJob): string {
  const { nodes_alive: alive } = job;
  if (alive === 0) return `${capitalize(reasonOf("nodes", job))}.`;
  return alive === 1 ? "1 node is alive." : `${alive} nodes are alive.`;
}

/** The workspace's shares, if none is used up. Null: no node explains it. */
export const describeShares = (usedUp: readonly JobShare[] | null): string =>
  usedUp === null ? "Only nodes know what the workspace uses of them." : "The workspace's share of this node has room.";

const oldestOf = (job: ExplainedJob, id: JobId | null, oldest_started_at: Timestamp | null) => ({
  oldest_job: id === null ? null : showActive(job, id),
  oldest_started_at,
});

const DESCRIPTIONS: Descriptions = {
  state: (job) => {
    const { state, attempt, attempts, spared, started_at, finished_at } = job;
    return { message: describeState(job), figures: { state, attempt, attempts, spared, started_at, finished_at } };
  },

  nodes: (job) => ({ message: describeNodes(job), figures: { alive: job.nodes_alive, last_seen_at: job.node_seen_at } }),

  due: ({ run_at, run_at_is_ahead }) => ({
    message: run_at_is_ahead ? `Its run_at is ${run_at}.` : `It was due at ${run_at}.`,
    figures: { run_at },
  }),

  approval: ({ type, approval, decide_at, approval_timeout, on_timeout }) => {
    const { decision = null, by = null } = approval === null ? {} : (JSON.parse(approval) as Partial<Decision>);
    const undecided = type === "approval" ? "Nobody has decided on it." : "The queue needs no approval.";
    return {
      message: decision === null ? undecided : `It was ${decision}${by === null ? "" : ` by ${by}`}.`,
      figures: {
        decision,
        decide_at: approval_timeout === null ? null : decide_at,
        on_timeout: type === "approval" ? on_timeout : null,
      },
    };
  },

  queue_paused: ({ paused, paused_at, paused_by }) => ({
    message: paused ? "The queue is paused." : "The queue is not paused.",
    figures: { paused, paused_at, paused_by },
  }),

  plan: ({ plan }) => {
    const callbacks = planHas(plan, "callback_url");
    return {
      message: callbacks ? `The plan ${plan} includes callbacks.` : `The plan ${plan} does not include callbacks.`,
      figures: { plan, callbacks },
    };
  },

  handler: (job) => {
    const { has_callback_url, worker_seen_at: worker_last_seen_at } = job;
    return {
      message: has_callback_url ? "The queue has a callback_url." : describeWorkers(job),
      figures: { has_callback_url, worker_last_seen_at },
    };
  },

  circuit: (job) => {
    const { opened_at, probe_at: next_probe_at } = job;
    const last_error = job.last_error === null ? null : (JSON.parse(job.last_error) as LastError);
    const may_probe = mayProbe(job);
    return {
      message:
        next_probe_at === null
          ? "The circuit is closed."
          : capitalize(may_probe ? `${openCircuit(job)} and this job is the next probe.` : `${openCircuit(job)}.`),
      figures: { state: next_probe_at === null ? "closed" : "open", opened_at, next_probe_at, may_probe, last_error },
    };
  },

  key_concurrency: (job) => {
    const { concurrency_key: key, concurrency_per_key: limit, key_active, key_ahead, key_ahead_is_more } = job;
    const active = key === null ? null : key_active;
    const ahead = key === null || !waits(job) ? null : key_ahead;
    return {
      message: key === null ? "It has no concurrencyKey." : `Its concurrencyKey has ${active} of ${limit} allowed jobs active.`,
      figures: { key, limit, active, ...oldestOf(job, job.oldest_of_key, job.oldest_of_key_at), ahead, ahead_is_more: key_ahead_is_more },
    };
  },

  queue_concurrency: (job) => {
    const { concurrency: limit, in_flight, slots_free: free } = job;
    return {
      message: limit === null ? "The queue has no concurrency limit." : `The queue has ${in_flight} of ${limit} allowed jobs in flight.`,
      figures: {
        ...{ limit, in_flight, free },
        ...oldestOf(job, job.oldest_of_lane, job.oldest_of_lane_at),
        ahead: waits(job) ? job.ahead : null,
      },
    };
  },

  rate_limit: ({ rate_max: max, rate_seconds: per_seconds, started, starts_free: free, starts_at: opens_at }) => ({
    message:
      max === null
        ? "The queue has no rate limit."
        : `The queue has started ${started} of ${max} allowed attempts in the last ${per_seconds} s.`,
    figures: { max, per_seconds, started, free, opens_at },
  }),

  workspace_share: ({ shares_used_up: used_up }) => ({ message: describeShares(used_up), figures: { used_up: [...(used_up ?? [])] } }),

  quota: (_found, { used, limit, resets_at }) => ({
    message:
      limit === null
        ? "The workspace has no quota."
        : `${used} of the month's ${limit} executions are used. The quota does not hold jobs that were accepted.`,
    figures: { used, limit, resets_at },
  }),
};

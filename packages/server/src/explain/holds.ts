import { GATES, type GateName, type JobState, planHas } from "@tidemill/contract";
import type { ExplainedJob } from "./store.ts";

/** States in which a job has not started yet. */
const WAITS: readonly JobState[] = ["waiting", "delayed", "pending_approval"];

export const waits = ({ state }: ExplainedJob): boolean => WAITS.includes(state);

/** Whether the job is the next probe: when a probe is due, an open circuit lets the first job in line through. */
export const mayProbe = (job: ExplainedJob): boolean => waits(job) && job.probe_is_due && job.ahead === 0;

/** The gates that may hold a job that waits. */
export type HoldingGate = Exclude<GateName, "state" | "quota">;

/** The conditions of a claim, gate by gate. A job that no gate holds is taken by the next claim that has room. */
const HOLDS: Record<HoldingGate, (job: ExplainedJob) => boolean> = {
  nodes: ({ nodes_alive }) => nodes_alive === 0,
  due: ({ state, run_at_is_ahead }) => state === "delayed" || (state === "pending_approval" && run_at_is_ahead),
  approval: ({ state }) => state === "pending_approval",
  queue_paused: ({ paused }) => paused,
  plan: ({ has_callback_url, plan }) => has_callback_url && !planHas(plan, "callback_url"),
  handler: ({ has_callback_url, no_worker_asks }) => !has_callback_url && no_worker_asks,
  circuit: (job) => job.probe_at !== null && !mayProbe(job),
  key_concurrency: ({ state, concurrency_key, key_slot, key_ahead, key_active, concurrency_per_key }) =>
    concurrency_key !== null && (state === "waiting" ? key_slot === null : key_ahead >= concurrency_per_key - key_active),
  // While slots are free, something else may be why the jobs ahead do not use them.
  queue_concurrency: (job) =>
    job.slots_free !== null && job.ahead >= job.slots_free && (job.slots_free === 0 || !OTHERS.some((gate) => HOLDS[gate](job))),
  rate_limit: ({ starts_free, ahead }) => starts_free !== null && ahead >= starts_free,
  workspace_share: ({ has_callback_url, shares_used_up }) => has_callback_url && shares_used_up !== null && shares_used_up.length > 0,
};

const OTHERS = GATES.filter((gate): gate is HoldingGate => gate !== "state" && gate !== "quota" && gate !== "queue_concurrency");

/**
 * Whether a gate keeps the job from starting now. For a delayed or pending job, the later gates are evaluated as if it reached them now.
 * An active job has passed all gates. A finished job is held by its state alone. The quota holds no job: it only refuses new ones.
 */
export function holds(gate: GateName, job: ExplainedJob): boolean {
  if (gate === "state") return !waits(job) && job.state !== "active";
  return gate !== "quota" && waits(job) && HOLDS[gate](job);
}

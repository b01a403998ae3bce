import { type GateName, type JobState, planHas } from "@tidemill/contract";
import type { Found } from "./store.ts";

/** States from which a job has yet to start. */
const WAITS: readonly JobState[] = ["waiting", "delayed", "pending_approval"];

export const waits = ({ state }: Found): boolean => WAITS.includes(state);

/** The circuit lets one job through when its probe is due: the first in line. */
export const mayProbe = (found: Found): boolean => waits(found) && found.probe_is_due && found.ahead === 0;

/** What a claim asks of a job, gate by gate: one that none of these holds is taken by the next claim that has room for it. */
const HOLDS: Record<Exclude<GateName, "state" | "quota">, (found: Found) => boolean> = {
  due: ({ state, run_at_is_ahead }) => state === "delayed" || (state === "pending_approval" && run_at_is_ahead),
  approval: ({ state }) => state === "pending_approval",
  queue_paused: ({ paused }) => paused,
  plan: ({ has_handler, plan }) => has_handler && !planHas(plan, "callback_url"),
  handler: ({ has_handler }) => !has_handler,
  circuit: (found) => found.probe_at !== null && !mayProbe(found),
  key_concurrency: ({ state, concurrency_key, key_slot, key_ahead, key_active, concurrency_per_key }) =>
    concurrency_key !== null && (state === "waiting" ? key_slot === null : key_ahead >= concurrency_per_key - key_active),
  queue_concurrency: ({ slots_free, ahead }) => slots_free !== null && ahead >= slots_free,
  rate_limit: ({ starts_free, ahead }) => starts_free !== null && ahead >= starts_free,
};

/**
 * Whether a gate keeps the job from starting now. For a job that is delayed or not decided the later gates are told as they would be
 * if it came to them now. A job that is active has passed all gates, one that has finished is held by its state alone, and the
 * quota holds nothing: what it refuses was never accepted.
 */
export function holds(gate: GateName, found: Found): boolean {
  if (gate === "state") return !waits(found) && found.state !== "active";
  return gate !== "quota" && waits(found) && HOLDS[gate](found);
}

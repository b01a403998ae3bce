import { type Decision, type ExplainedGate, GATES, type GateName, type LastError, planHas } from "@tidemill/contract";
import type { readQuota } from "#usage";
import { holds, mayProbe, waits } from "./holds.ts";
import type { Found } from "./store.ts";

export type Quota = Awaited<ReturnType<typeof readQuota>>;

type Told<Name extends GateName> = Omit<Extract<ExplainedGate, { gate: Name }>, "gate" | "holds">;
type Tellers = { [Name in GateName]: (found: Found, held: boolean, quota: Quota) => Told<Name> };

/** All gates in their order, each with whether it holds the job and what it goes by. */
export const gatesOf = (found: Found, quota: Quota): ExplainedGate[] =>
  GATES.map((gate) => {
    const held = holds(gate, found);
    return { gate, holds: held, ...TELLERS[gate](found, held, quota) } as ExplainedGate;
  });

const TELLERS: Tellers = {
  state: ({ state, attempt, attempts, started_at, finished_at }, finished) => ({
    message: finished
      ? `It is finished: ${state}.`
      : state === "active"
        ? `It is running: attempt ${attempt}, since ${started_at}.`
        : "It has not finished.",
    figures: { state, attempt, attempts, started_at, finished_at },
  }),

  due: ({ run_at, run_at_is_ahead }, held) => ({
    message: run_at_is_ahead
      ? `It is not due before ${run_at}.`
      : held
        ? `It was due at ${run_at}, and is about to be put in line.`
        : `It was due at ${run_at}.`,
    figures: { run_at },
  }),

  approval: ({ type, approval, decide_at, approval_timeout, on_timeout }, held) => {
    const decision = approval === null ? null : (JSON.parse(approval) as Decision).decision;
    const at = approval_timeout === null ? null : decide_at;
    const alone = at === null ? "" : `, and is ${on_timeout === "approve" ? "approved" : "rejected"} at ${at} if nobody decides`;
    return {
      message: held ? `It waits to be approved${alone}.` : decision ? `It was ${decision}.` : "It does not wait to be approved.",
      figures: { decision, decide_at: at, on_timeout: type === "approval" ? on_timeout : null },
    };
  },

  queue_paused: ({ paused }) => ({
    message: paused ? "The queue is paused: it starts nothing until it is resumed." : "The queue is not paused.",
    figures: { paused },
  }),

  plan: ({ plan }, held) => {
    const callbacks = planHas(plan, "callback_url");
    return {
      message: held
        ? `Callbacks are stopped: the plan ${plan} does not have them.`
        : callbacks
          ? `The plan ${plan} has callbacks.`
          : `The plan ${plan} has no callbacks.`,
      figures: { plan, callbacks },
    };
  },

  handler: ({ has_handler }) => ({
    message: has_handler ? "The queue has a callback_url." : "The queue has no callback_url: its jobs wait for a worker to take them.",
    figures: { has_callback_url: has_handler },
  }),

  circuit: (found) => {
    const { opened_at, probe_at: next_probe_at } = found;
    const last_error = found.last_error === null ? null : (JSON.parse(found.last_error) as LastError);
    const may_probe = mayProbe(found);
    const tried = may_probe ? "a probe is due, and this job is the one to go" : `one job at a time is tried, the next at ${next_probe_at}`;
    return {
      message:
        next_probe_at === null ? "The endpoint is not taken for dead." : `The endpoint is taken for dead (${last_error?.code}): ${tried}.`,
      figures: { state: next_probe_at === null ? "closed" : "open", opened_at, next_probe_at, may_probe, last_error },
    };
  },

  key_concurrency: (found, held) => {
    const { concurrency_key: key, concurrency_per_key: limit, key_active, key_ahead, key_ahead_is_more } = found;
    const active = key === null ? null : key_active;
    const ahead = key === null || !waits(found) ? null : key_ahead;
    return {
      message:
        key === null
          ? "It has no concurrencyKey."
          : `Of its concurrencyKey ${active} of at most ${limit} jobs ${are(key_active)} active${held ? `, and ${before(key_ahead, key_ahead_is_more)}` : ""}.`,
      figures: { key, limit, active, ahead, ahead_is_more: key_ahead_is_more },
    };
  },

  queue_concurrency: (found, held) => {
    const { concurrency: limit, in_flight, slots_free: free } = found;
    return {
      message:
        limit === null
          ? "The queue has no limit on jobs in flight."
          : `The queue has ${in_flight} of at most ${limit} jobs in flight${held ? `, and ${before(found.ahead, found.ahead_is_more)}` : ""}.`,
      figures: { limit, in_flight, free, ahead: waits(found) ? found.ahead : null },
    };
  },

  rate_limit: (found, held) => {
    const { rate_max: max, rate_seconds: per_seconds, started, starts_free: free, starts_at: opens_at } = found;
    return {
      message:
        max === null
          ? "The queue has no rate limit."
          : `The queue has started ${started} of at most ${max} jobs in ${per_seconds} seconds${held ? `, and ${before(found.ahead, found.ahead_is_more)}` : ""}.`,
      figures: { max, per_seconds, started, free, opens_at },
    };
  },

  quota: (_found, _held, { used, limit, resets_at }) => ({
    message:
      limit === null
        ? "The workspace has no quota."
        : `${used} of the month's ${limit} executions are used; no quota holds a job that was accepted.`,
    figures: { used, limit, resets_at },
  }),
};

const are = (count: number): string => (count === 1 ? "is" : "are");

/** How many go before it. */
function before(ahead: number, isMore: boolean): string {
  if (isMore) return `more than ${ahead} go before it`;
  if (ahead === 0) return "it is the next";
  return ahead === 1 ? "1 goes before it" : `${ahead} go before it`;
}

import { type ExplainedRunGate, type LastError, planHas, RUN_GATES, type RunError, type RunGateName } from "@tidemill/contract";
import { type PendingCall, type RunToExplain, showRunId } from "#workflows";
import { describeNodes, describeShares, heldMessage, type Quota } from "./gates.ts";
import { holds, mayProbe, waits } from "./holds.ts";
import { capitalize, describeError, describeWorkers, openCircuit, reasonOf, showActive } from "./reasons.ts";
import type { ExplainedJob } from "./store.ts";
import { describeActive, joinList } from "./summary.ts";
import { ago, fromNow } from "./times.ts";

/** A run that has not ended, with its next execution. */
export interface LiveRun extends RunToExplain {
  readonly job: ExplainedJob;
}

/** The gates that only runs have. */
type OwnGate = "steps" | "code" | "version";
/** The gates that a run shares with jobs. */
type LaneGate = Exclude<RunGateName, OwnGate | "state" | "quota">;

const JOB_GATES = {
  nodes: "nodes",
  due: "due",
  plan: "plan",
  handler: "handler",
  circuit: "circuit",
  concurrency: "queue_concurrency",
  workspace_share: "workspace_share",
} as const satisfies Record<LaneGate, string>;

const isLaneGate = (gate: RunGateName): gate is LaneGate => Object.hasOwn(JOB_GATES, gate);

/** Whether the run waits for something that is not a time. Until then its job is not due. */
const isSuspended = ({ waiting, unfit, job }: LiveRun): boolean => job.state === "delayed" && (waiting.count > 0 || unfit !== null);

const OWN_HOLDS: Record<OwnGate, (live: LiveRun) => boolean> = {
  steps: (live) => isSuspended(live) && live.unfit === null,
  code: (live) => isSuspended(live) && live.unfit !== null,
  // Workers of the version take it when a slot is free.
  version: ({ keptFor, job }) => keptFor !== null && waits(job) && job.slots_free !== 0,
};

function runHolds(gate: RunGateName, live: LiveRun): boolean {
  if (gate === "state" || gate === "quota") return false;
  if (!isLaneGate(gate)) return OWN_HOLDS[gate](live);
  if (gate === "due" && isSuspended(live)) return false;
  // The jobs ahead do not keep it from a free slot either.
  if (gate === "concurrency" && OWN_HOLDS.version(live)) return false;
  return holds(JOB_GATES[gate], live.job);
}

/** The gates that hold a run, in their order. */
export const heldRun = (live: LiveRun): RunGateName[] => RUN_GATES.filter((gate) => runHolds(gate, live));

/** Its attempts are those of the run: each may have several executions. */
const jobOf = ({ run, job }: LiveRun): ExplainedJob => ({ ...job, attempt: run.failures, attempts: run.attempts, spared: 0 });

const OWN_REASONS: Record<OwnGate, (live: LiveRun) => string> = {
  steps: ({ waiting: { named, count }, job: { now } }) => {
    const more = count - named.length;
    const parts = named.map((step) => stepReason(step, now));
    return `it ${[...parts, ...(more > 0 ? [`waits for ${more} more ${more === 1 ? "step" : "steps"}`] : [])].join(" and ")}`;
  },
  code: ({ unfit, job: { now } }) => {
    const version = unfit?.version ? ` of version ${unfit.version}` : "";
    const again = unfit?.retry_at ? ` and is tried again ${fromNow(unfit.retry_at, now)}` : "";
    return `its journal does not fit the code${version} at step "${unfit?.step}" and it waits for other code${again}`;
  },
  version: ({ keptFor }) => `it is kept for a worker of version ${keptFor}`,
};

function stepReason(
  { key, type, signal, child_run_id: child, wake_at: at, call }: RunToExplain["waiting"]["named"][number],
  now: string,
): string {
  if (type === "http") return `waits for the response to "${key}"${call ? failureOf(call, now) : ""}`;
  if (signal !== null) return `waits for the signal "${signal}" of "${key}"`;
  if (child !== null) return `waits for the run ${showRunId(child)} of "${key}"`;
  return at === null ? `sleeps in "${key}"` : `sleeps in "${key}" and wakes ${fromNow(at, now)}`;
}

/** Why the last attempt of a call failed, and when it is tried again. */
function failureOf({ attempt, attempts, last_error: error, next_attempt_at: nextAt }: PendingCall, now: string): string {
  if (error === null) return "";
  const failed = `its last attempt failed with ${error.code}${error.status === null ? "" : ` ${error.status}`}`;
  return nextAt === null ? ` (${failed})` : ` (${failed}; attempt ${attempt + 1} of ${attempts} is due ${fromNow(nextAt, now)})`;
}

/** Why a gate holds a run, as part of a sentence. */
export function runReasonOf(gate: RunGateName, live: LiveRun): string {
  if (gate === "state" || gate === "quota") return "";
  if (!isLaneGate(gate)) return OWN_REASONS[gate](live);
  const reason = reasonOf(JOB_GATES[gate], jobOf(live));
  return gate === "due" && live.run.error !== null ? `its last execution failed and ${reason}` : reason;
}

/**
 * Why the last execution of a run failed, as the end of a sentence.
 *
 * @param error of the run, JSON
 */
export function describeRunError(error: string): string {
  const { name, message } = JSON.parse(error) as RunError;
  return describeError(name, message);
}

/** Describes a run that is executed or has ended. */
export function describeRun({ status, failures, attempts, error, ended_at, now }: RunToExplain["run"], job: ExplainedJob | null): string {
  const at = ended_at === null ? "" : ` ${ago(ended_at, now)}`;
  const attempt = `attempt ${Math.min(failures + 1, attempts)} of ${attempts}`;
  switch (status) {
    case "completed":
      return `Completed${at}, on ${attempt}.`;
    case "failed":
      return `Failed${at}, after ${Math.min(failures + 1, attempts)} of ${attempts} attempts.${
        error === null ? "" : ` The error was ${describeRunError(error)}`
      }`;
    case "cancelled":
      return `Cancelled${at}.`;
    default:
      return job?.state === "active"
        ? describeActive(job, `${attempt}. Its execution started ${ago(job.started_at ?? job.now, job.now)}.`)
        : "It has not ended.";
  }
}

/** Says why the undo of an ended run has not ended. */
export function describeUndo({ last_error: error }: NonNullable<RunToExplain["undo"]>, job: ExplainedJob): string {
  if (!waits(job)) return "Its steps are being undone.";
  const held = Object.values(JOB_GATES).filter((gate) => holds(gate, job));
  // Its attempts are not those of the run.
  const reasons = held.map((gate) => reasonOf(gate, { ...job, attempt: 0, spared: 0 }));
  const why = [...(error === null ? [] : [`the last try failed with ${error.code}`]), ...reasons];
  return `Its steps are still to be undone${why.length === 0 ? "" : `: ${joinList(why)}`}.`;
}

type GateOf<Name extends RunGateName> = Extract<ExplainedRunGate, { gate: Name }>;
type Description<Name extends RunGateName> = Omit<GateOf<Name>, "gate" | "holds">;

/** All gates of a run that has not ended, in their order: whether each holds it, and the figures that decide it. */
export const runGatesOf = (live: LiveRun, quota: Quota): ExplainedRunGate[] =>
  RUN_GATES.map((gate) => {
    const held = runHolds(gate, live);
    const { message, figures } = DESCRIPTIONS[gate](live, quota);
    return { gate, holds: held, message: held ? messageOf(gate, live) : message, figures } as ExplainedRunGate;
  });

function messageOf(gate: RunGateName, live: LiveRun): string {
  return isLaneGate(gate) ? heldMessage(JOB_GATES[gate], jobOf(live)) : `${capitalize(runReasonOf(gate, live))}.`;
}

/** The gate that even an ended run has. */
export function stateGateOf(run: RunToExplain["run"], job: ExplainedJob | null): GateOf<"state"> {
  const { status, failures, attempts, ended_at: endedAt } = run;
  const figures = { status, attempt: Math.min(failures + 1, attempts), attempts, endedAt };
  return { gate: "state", holds: endedAt !== null, message: describeRun(run, job), figures };
}

/** The message and figures of each gate. The message applies while the gate does not hold the run. */
const DESCRIPTIONS: { [Name in RunGateName]: (live: LiveRun, quota: Quota) => Description<Name> } = {
  state: ({ run, job }) => stateGateOf(run, job),

  nodes: ({ job }) => ({ message: describeNodes(job), figures: { alive: job.nodes_alive, lastSeenAt: job.node_seen_at } }),

  steps: ({ waiting: { count: waiting, firstAt } }) => ({
    message: waiting === 0 ? "It waits for no step." : "A step that it waits for has ended.",
    figures: { waiting, firstAt },
  }),

  code: ({ unfit }) => ({
    message: unfit === null ? "It waits for no other code." : "Its journal did not fit the code and it is due to be tried again.",
    figures: { step: unfit?.step ?? null, codeVersion: unfit?.version || null, retryAt: unfit?.retry_at ?? null },
  }),

  due: (live) => {
    const { run_at, run_at_is_ahead } = live.job;
    if (isSuspended(live)) return { message: "It is due when what it waits for has come.", figures: { dueAt: null } };
    return { message: run_at_is_ahead ? `It is due at ${run_at}.` : `It was due at ${run_at}.`, figures: { dueAt: run_at } };
  },

  version: ({ keptFor: version }) => ({
    message: version === null ? "Workers of any version may have it." : `It is kept for a worker of version ${version}.`,
    figures: { version },
  }),

  plan: ({ job: { plan } }) => {
    const callbacks = planHas(plan, "callback_url");
    return { message: `The plan ${plan} ${callbacks ? "includes" : "does not include"} callbacks.`, figures: { plan, callbacks } };
  },

  handler: ({ job }) => {
    const { has_callback_url: hasEndpointUrl, worker_seen_at: workerLastSeenAt } = job;
    return {
      message: hasEndpointUrl ? "The workflow has an endpoint_url." : describeWorkers(job),
      figures: { hasEndpointUrl, workerLastSeenAt },
    };
  },

  circuit: ({ job }) => {
    const { opened_at: openedAt, probe_at: nextProbeAt } = job;
    const lastError = job.last_error === null ? null : (JSON.parse(job.last_error) as LastError);
    const may = mayProbe(job);
    return {
      message:
        nextProbeAt === null ? "The circuit is closed." : capitalize(`${openCircuit(job)}${may ? " and this run is the next probe" : ""}.`),
      figures: { state: nextProbeAt === null ? "closed" : "open", openedAt, nextProbeAt, mayProbe: may, lastError },
    };
  },

  concurrency: ({ job }) => {
    const { concurrency: limit, in_flight: inFlight, slots_free: free } = job;
    return {
      message:
        limit === null
          ? "The workflow has no concurrency limit."
          : `The workflow has ${inFlight} of ${limit} allowed executions in flight.`,
      figures: {
        ...{ limit, inFlight, free },
        oldestRunId: job.oldest_of_lane === null ? null : showActive(job, job.oldest_of_lane),
        oldestStartedAt: job.oldest_of_lane_at,
        ahead: waits(job) ? job.ahead : null,
      },
    };
  },

  workspace_share: ({ job: { shares_used_up } }) => ({
    message: describeShares(shares_used_up),
    figures: { usedUp: [...(shares_used_up ?? [])] },
  }),

  quota: (_, { used, limit, resets_at: resetsAt }) => ({
    message:
      limit === null
        ? "The workspace has no quota."
        : `${used} of the month's ${limit} executions are used. The quota does not hold runs that were accepted.`,
    figures: { used, limit, resetsAt },
  }),
};

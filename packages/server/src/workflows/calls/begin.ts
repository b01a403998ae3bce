import { planHas, type RunError } from "@tidemill/contract";
import { insertInternalJobs } from "#jobs";
import type { Db, JobId, UuidSource } from "#kernel";
import { insertLane, type LaneKey, type LaneSettings } from "#lanes";

import { type RunKey, showRunId } from "../runs/run.ts";
import type { StepsToInsert, StepToInsert } from "../steps/step-store.ts";
import { findStoredAcrossWorkspaces } from "../steps/wait-store.ts";
import type { CallToBegin, StoredRequest } from "./read-call.ts";
import { findCallLane, insertCalls } from "./store.ts";

/** The payload of a call's job. */
export interface CallPayload {
  /** The run's id as the API shows it. */
  readonly runId: string;
  readonly workflow: string;
  /** A key that is the same in every attempt of the call, and different in all other calls. */
  readonly idempotencyKey: string;
  readonly request: StoredRequest;
}

/** Steps as they are to be stored, and the lanes in which their calls wait for nodes. */
export interface BegunCalls {
  readonly reports: readonly StepsToInsert[];
  readonly lanes: readonly LaneKey[];
}

type CallStep = StepToInsert & { readonly call: CallToBegin };

const NO_CALLS: RunError = {
  name: "PlanRequiredError",
  message: "The plan of the workspace has no calls by the service. Make the call in a step of your own, with step.run.",
};

/**
 * Enqueues the calls of steps that are not in the journals of their runs, which are locked. On a plan without callbacks such a step fails
 * when the next execution begins. All other steps are returned as they are.
 */
export async function beginCalls(tx: Db, ids: UuidSource, reports: readonly StepsToInsert[]): Promise<BegunCalls> {
  const begun: StepsToInsert[] = [];
  const lanes: LaneKey[] = [];
  for (const report of reports) {
    const { steps, lane } = await beginOfRun(tx, ids, report, report.steps);
    begun.push({ ...report, steps });
    if (lane) lanes.push(lane);
  }
  return { reports: begun, lanes };
}

async function beginOfRun(
  tx: Db,
  ids: UuidSource,
  { workspaceId, id }: RunKey,
  steps: readonly StepToInsert[],
): Promise<{ steps: readonly StepToInsert[]; lane: LaneKey | null }> {
  const run = { workspaceId, id };
  const asked = steps.filter((step): step is CallStep => step.call !== undefined);
  if (asked.length === 0) return { steps, lane: null };
  const stored = await findStoredAcrossWorkspaces(
    tx,
    asked.map(({ key }) => ({ ...run, key })),
  );
  const known = new Set(asked.flatMap(({ key }, index) => (stored.has(index) ? [key] : [])));
  const begun = [...new Map(asked.filter(({ key }) => !known.has(key)).map((step) => [step.key, step])).values()];
  const found = begun.length > 0 ? await findCallLane(tx, run) : null;
  // The runs of a deleted workflow are deleted soon.
  if (!found) return { steps, lane: null };
  if (!planHas(found.plan, "callback_url"))
    return { steps: steps.map((step) => (step.call && !known.has(step.key) ? refused(step) : step)), lane: null };
  const lane = { workspaceId: run.workspaceId, laneId: found.lane_id ?? (await makeLane(tx, run, found.workflow)) };
  const jobs = begun.map((step) => ({ step, id: ids.next() as JobId }));
  await insertInternalJobs(
    tx,
    jobs.map(({ step: { key, call }, id }) => ({
      ...lane,
      id,
      kind: "http",
      payload: payloadOf(run, found.workflow, key, call),
      attempts: call.attempts,
      backoffDelayMs: call.backoffDelayMs,
      runAtMs: null,
      concurrencyKey: null,
    })),
  );
  await insertCalls(
    tx,
    run,
    jobs.map(({ step: { key, call }, id }) => ({ ...lane, id, key, method: call.method, url: call.url })),
  );
  return { steps, lane };
}

const refused = (step: StepToInsert): StepToInsert => ({ ...step, error: JSON.stringify(NO_CALLS) });

const SETTINGS: LaneSettings = {
  served: "push",
  paused: undefined,
  concurrency: undefined,
  concurrencyPerKey: undefined,
  rateMax: undefined,
  rateSeconds: undefined,
  attempts: undefined,
  backoffDelayMs: undefined,
  attemptTimeoutSeconds: undefined,
};

/** Makes the lane for the calls of a workflow. If another run of the workflow is making it at the same moment, this waits for that run. */
async function makeLane(tx: Db, run: RunKey, workflow: string): Promise<LaneKey["laneId"]> {
  const made = await insertLane(tx, run.workspaceId, "http", workflow, SETTINGS);
  const lane = made?.id ?? (await findCallLane(tx, run))?.lane_id;
  if (!lane) throw new Error("The workflow was deleted just now.");
  return lane;
}

const payloadOf = ({ id }: RunKey, workflow: string, key: string, { request }: CallToBegin): string => {
  const runId = showRunId(id);
  const idempotencyKey = `${runId}:${encodeURIComponent(key)}`;
  return `${JSON.stringify({ runId, workflow, idempotencyKey }).slice(0, -1)},"request":${request}}`;
};

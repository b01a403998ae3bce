import type { LastError, ListedRun, Run as RunRecord, RunStatus, RunStep } from "@tidemill/contract";
import { undoneBy } from "@tidemill/contract";
import { jsonItems } from "#http";
import {
  fragment,
  type JsonParts,
  notFound,
  type ProblemError,
  type RunId,
  type SlicedWork,
  type Timestamp,
  typeId,
  uuidOf,
  type WorkspaceId,
} from "#kernel";
import type { LaneId } from "#lanes";

/**
 * Whether a run has not ended. A check of migration 0010 says that `status` and `ended_at` agree. A condition on the status would imply that of
 * index `run_status`, and without statistics the planner would choose it to find runs by their ids (decision 53).
 */
export const LIVE = fragment`ended_at is null`;

/**
 * Whether run `r` waits for other code: its last execution did not fit. A node of an earlier version leaves `parked` as it is when it tries the
 * run again. Uses the primary key.
 */
export const WAITS_FOR_CODE = fragment`exists (
  select from run_unfit u
  where u.workspace_id = any(array[r.workspace_id]) and u.run_id = r.id and u.parked and u.execution = r.last_execution offset 0)`;

/** Whether a job is an execution of a run: of its workflow, or to undo its steps. Such a job has the id of the run. */
export const isOfRun = ({ kind }: { readonly kind: string }): boolean => kind === "run" || kind === "undo";

/** Identifies a run in statements, which start with the workspace (I11). */
export interface RunKey {
  readonly workspaceId: WorkspaceId;
  readonly id: RunId;
}

/** A run, with the name of its workflow. Input, result, error and trigger are JSON texts. */
export interface RunRow {
  readonly id: RunId;
  readonly lane_id: LaneId;
  readonly workflow: string;
  readonly status: RunStatus;
  readonly version: string | null;
  readonly failures: number;
  readonly attempts: number;
  readonly error: string | null;
  readonly trigger: string;
  readonly parent_run_id: RunId | null;
  readonly idempotency_key: string | null;
  readonly next_attempt_at: Timestamp | null;
  readonly created_at: Timestamp;
  readonly started_at: Timestamp | null;
  readonly ended_at: Timestamp | null;
}

export interface RunWithData extends RunRow {
  readonly input: string;
  readonly result: string | null;
  /** JSON text. */
  readonly progress: string | null;
  /** The last place in the journal. It grows with each change of the journal. */
  readonly last_seq: number;
  /** The size of the outputs and errors in the journal. Bytes. */
  readonly journal_bytes: number;
  /** The approximate length of the run with its journal as JSON text. Bytes. */
  readonly bytes: number;
  readonly retries: number;
}

/** A step of a journal. Output and error are JSON texts. */
export interface StepRow {
  readonly key: string;
  readonly type: RunStep["type"];
  readonly status: RunStep["status"];
  readonly output: string | null;
  readonly error: string | null;
  readonly attempt: number;
  readonly started_at: Timestamp;
  readonly ended_at: Timestamp | null;
  readonly wake_at: Timestamp | null;
  readonly signal: string | null;
  /** The run that it has started, and waits for. */
  readonly child_run_id: RunId | null;
  readonly undoable: boolean;
}

/** A call that has no outcome yet, as people see it. */
export interface PendingCall {
  readonly key: string;
  readonly method: string;
  readonly url: string;
  readonly attempt: number;
  readonly attempts: number;
  readonly next_attempt_at: Timestamp | null;
  readonly last_error: LastError | null;
}

/** The undo of a run that has ended. */
export interface PendingUndo {
  /** When it is tried again. Null: it is being executed, or waits for a worker or a node. */
  readonly next_attempt_at: Timestamp | null;
  readonly last_error: LastError | null;
}

/** A journal that did not fit the code. */
export interface UnfitRow {
  readonly step: string;
  readonly reason: string;
  /** Empty: the code had no version. */
  readonly version: string;
}

/** Why a run waits for other code. */
export interface ParkedRow extends UnfitRow {
  /** When it is tried again. Null: only when a version comes that has not tried it. */
  readonly retry_at: Timestamp | null;
}

/** Whether nothing more happens to a run, unless it is retried. */
export const isEnded = ({ ended_at }: Pick<RunRow, "ended_at">): boolean => ended_at !== null;

/** Whether a run may have steps that are undone after its end. */
export const mayBeUndone = ({ status }: Pick<RunRow, "status">): boolean => status === "failed" || status === "cancelled";

export const showRunId = (id: RunId): RunRecord["runId"] => typeId("run", id);
export const readRunId = (text: string): RunId | null => uuidOf("run", text) as RunId | null;
export const runNotFound = (id: string): ProblemError => notFound({ resource: "run", id });

/** A run in a list. */
export const showListedRun = (run: RunRow): ListedRun => ({
  runId: showRunId(run.id),
  workflowId: run.workflow,
  version: run.version,
  status: run.status,
  attempt: run.failures + 1,
  attempts: run.attempts,
  trigger: JSON.parse(run.trigger),
  parentRunId: run.parent_run_id && showRunId(run.parent_run_id),
  idempotencyKey: run.idempotency_key,
  error: run.error === null ? null : JSON.parse(run.error),
  nextAttemptAt: run.next_attempt_at,
  createdAt: run.created_at,
  startedAt: run.started_at,
  endedAt: run.ended_at,
});

/** What is shown of a run in addition to its own columns. */
export interface RunDetails {
  readonly steps: readonly StepRow[];
  readonly calls: readonly PendingCall[];
  readonly hookErrors: RunRecord["hookErrors"];
  /** Why it waits for other code, if it does. */
  readonly unfit: ParkedRow | null;
  /** The version for whose workers the run is kept, while workers of other versions poll. */
  readonly keptFor: string | null;
  /** What is left of its undo, after it has ended. */
  readonly undo: PendingUndo | null;
}

/** The length of a step as JSON text, without its output and error. An estimate, usually too high. Bytes. */
export const STEP_BYTES = 500;

/** A run with its journal, as JSON text. Values are inserted as they were stored. */
export function* showRun(run: RunWithData, details: RunDetails): SlicedWork<JsonParts> {
  const waitingFor = yield* showWaitingFor(run, details);
  const journal = yield* showJournal(details.steps);
  return [
    `${JSON.stringify(showListedRun(run)).slice(0, -1)},"input":`,
    run.input,
    `,"result":`,
    run.result ?? "null",
    `,"progress":${run.progress ?? "null"},"waitingFor":`,
    ...waitingFor,
    ',"steps":',
    ...journal,
    `,"hookErrors":${JSON.stringify(details.hookErrors)},"undoErrors":${JSON.stringify(undoErrorsOf(details.steps))}}`,
  ];
}

/** What a run waits for. One that has ended only waits for its undo. */
function* showWaitingFor({ ended_at, version }: RunRow, { steps, calls, unfit, keptFor, undo }: RunDetails): SlicedWork<JsonParts> {
  if (ended_at !== null) return [JSON.stringify(undo ? [showUndo(undo)] : [])];
  const code = unfit && {
    type: "code" as const,
    step: unfit.step,
    journalVersion: version,
    codeVersion: unfit.version || null,
    reason: unfit.reason,
    ...(unfit.retry_at !== null && { retryAt: unfit.retry_at }),
  };
  const waiting = steps.filter(({ status }) => status === "waiting");
  const callOf = new Map(calls.map((call) => [call.key, call]));
  const ofStep = ({ key, type, signal, child_run_id: child, wake_at: at }: StepRow): RunRecord["waitingFor"][number] => {
    const timeout = at !== null && { timeoutAt: at };
    if (type === "http") return { type, step: key, ...showCall(callOf.get(key)) };
    if (signal !== null) return { type: "signal" as const, step: key, signal, ...timeout };
    if (child !== null) return { type: "invoke" as const, step: key, runId: showRunId(child), ...timeout };
    return { type: "sleep" as const, step: key, ...(at !== null && { until: at }) };
  };
  const worker = keptFor === null ? [] : [{ type: "worker" as const, version: keptFor }];
  const others = [...(code ? [code] : []), ...worker].map((one) => [JSON.stringify(one)]);
  return yield* listInSlices(waiting, (step) => [JSON.stringify(ofStep(step))], others);
}

const showUndo = ({ next_attempt_at: nextAttemptAt, last_error: lastError }: PendingUndo): RunRecord["waitingFor"][number] => ({
  type: "undo",
  nextAttemptAt,
  lastError,
});

/** Shows a call. Nothing is shown of a call that has its outcome: its run resumes. */
function showCall(call: PendingCall | undefined) {
  if (!call) return {};
  const { method, url, attempt, attempts, next_attempt_at: nextAttemptAt, last_error: lastError } = call;
  return { method, url, attempt, attempts, nextAttemptAt, lastError };
}

/** What could not be undone. */
const undoErrorsOf = (steps: readonly StepRow[]): RunRecord["undoErrors"] =>
  steps.flatMap(({ key, type, status, error, ended_at: at }) =>
    type === "undo" && status === "failed"
      ? [{ step: undoneBy(key), message: (JSON.parse(error ?? "{}") as { message?: string }).message ?? "", occurredAt: at ?? "" }]
      : [],
  );

/** A journal as JSON text. */
export const showJournal = (steps: readonly StepRow[]): SlicedWork<JsonParts> => listInSlices(steps, showStep);

/** How many steps are shown before the event loop may do something else. They take about 0.3 ms. */
export const STEPS_IN_A_SLICE = 50;
/** Longer values of steps stay strings of their own. Characters. */
const MAX_JOINED = 1_024;

function* listInSlices(
  steps: readonly StepRow[],
  show: (step: StepRow) => JsonParts,
  before: readonly JsonParts[] = [],
): SlicedWork<JsonParts> {
  const parts: string[] = [];
  let short = ["[", ...jsonItems(before)];
  const join = () => {
    parts.push(short.join(""));
    short = [];
  };
  for (const [index, step] of steps.entries()) {
    if (index + before.length > 0) short.push(",");
    for (const part of show(step)) {
      if (part.length > MAX_JOINED) {
        join();
        parts.push(part);
      } else short.push(part);
    }
    if (index % STEPS_IN_A_SLICE < STEPS_IN_A_SLICE - 1) continue;
    join();
    yield;
  }
  short.push("]");
  join();
  return parts;
}

/** A step as JSON text. */
export const showStep = (step: StepRow): JsonParts => [
  `{"key":${JSON.stringify(step.key)},"type":"${step.type}","status":"${step.status}","output":`,
  step.output ?? "null",
  `,"error":${step.error ?? "null"},"attempt":${step.attempt},"startedAt":${JSON.stringify(step.started_at)},` +
    `"endedAt":${JSON.stringify(step.ended_at)},"wakeAt":${JSON.stringify(step.wake_at)},"signal":${JSON.stringify(step.signal)},` +
    `"undoable":${step.undoable}}`,
];

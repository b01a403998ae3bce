import { type Static, Type } from "typebox";
import { HookName } from "./hooks.ts";
import { LastError } from "./jobs.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { RunError } from "./run-errors.ts";
import { RunStep, StepKey } from "./steps.ts";
import { RunTrigger } from "./triggers.ts";
import { AT, STEP } from "./workflow-examples.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** Every status of a workflow run, in order of life. Source: contract §11; specification, Run states. */
export const RUN_STATUSES = ["pending", "running", "sleeping", "waiting", "completed", "failed", "cancelled"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
export const RunStatus = Type.Enum([...RUN_STATUSES], { title: "RunStatus", description: "The status of a run." });

const run = {
  runId: RUN_ID,
  workflowId: "user.onboard",
  version: "2026-11-23",
  status: "sleeping",
  attempt: 1,
  attempts: 3,
  trigger: { type: "api" },
  parentRunId: null,
  idempotencyKey: null,
  error: null,
  nextAttemptAt: null,
  createdAt: AT,
  startedAt: AT,
  endedAt: null,
};

const listed = {
  runId: RunId,
  workflowId: WorkflowId,
  version: Nullable(Type.String(), { description: "Version of the code that started the run; null before it is first executed." }),
  status: RunStatus,
  attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
  attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
  trigger: RunTrigger,
  parentRunId: Nullable(RunId, { description: "The run whose step started this run; null: none." }),
  idempotencyKey: Nullable(Type.String(), { description: "The key that it was triggered with." }),
  error: Nullable(RunError, { description: "Why the run failed, or why its last execution failed." }),
  nextAttemptAt: Nullable(Moment("RFC 3339 in UTC."), {
    description: "When it is executed again after a failure; while the circuit of its workflow is open, not before the next probe.",
  }),
  createdAt: Moment("When it was triggered."),
  startedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it was first executed." }),
  endedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it was completed, failed or cancelled." }),
};

export const ListedRun = Type.Object(listed, { title: "ListedRun", description: "A run in a list, without its data.", examples: [run] });
export type ListedRun = Static<typeof ListedRun>;

const WaitingFor = Type.Object(
  {
    type: Type.Enum(["sleep", "signal", "http", "invoke", "code", "worker", "undo"], {
      description:
        "What the run waits for. `code`: the journal does not fit the code, and the run continues with other code. `worker`: the run is due, " +
        "and is kept for a worker with its version, or with the newest if no worker of its own polls any more. `undo`: the run has ended, and " +
        "its steps are still to be undone.",
    }),
    step: Type.Optional(StepKey),
    until: Type.Optional(Moment("When a sleep ends.")),
    signal: Type.Optional(Type.String({ description: "The signal that must be completed." })),
    runId: Type.Optional(RunId),
    timeoutAt: Type.Optional(Moment("When the wait for a signal or a run ends without it.")),
    method: Type.Optional(Type.String({ description: "Method of the HTTP call." })),
    url: Type.Optional(Type.String({ description: "URL of the HTTP call, with its templates." })),
    attempt: Type.Optional(Type.Integer({ description: "How often the call was started." })),
    attempts: Type.Optional(Type.Integer({ description: "The largest number of tries of the call." })),
    nextAttemptAt: Type.Optional(
      Nullable(Moment("RFC 3339 in UTC."), { description: "When a call or an undo that failed is tried again." }),
    ),
    lastError: Type.Optional(Nullable(LastError, { description: "Why the last attempt of the call or the undo failed." })),
    journalVersion: Type.Optional(Nullable(Type.String(), { description: "With `code`: version of the code that started the run." })),
    codeVersion: Type.Optional(Nullable(Type.String(), { description: "With `code`: version of the code that the journal does not fit." })),
    retryAt: Type.Optional(Moment("With `code`: when the run is tried again, if code without a version has tried it.")),
    version: Type.Optional(Type.String({ description: "With `worker`: the version of the code." })),
    reason: Type.Optional(Type.String({ description: "With `code`: what does not fit, and what to do." })),
  },
  {
    title: "WaitingFor",
    description: "What a run waits for.",
    examples: [{ type: "signal", step: "approval", signal: "approve.u1", timeoutAt: AT }],
  },
);

export const Run = Type.Object(
  {
    ...listed,
    input: Nullable(Type.Unknown(), { description: "What it was triggered with." }),
    result: Nullable(Type.Unknown(), { description: "What a completed run returned." }),
    progress: Nullable(Type.Unknown(), { description: "The progress that its code last reported." }),
    steps: Type.Array(RunStep, { description: "Its journal: steps in the order of their outcomes, then waiting steps." }),
    waitingFor: Type.Array(WaitingFor, {
      description: "What the run waits for: code that its journal fits, and whatever its steps wait for; after its end, its undo.",
    }),
    hookErrors: Type.Array(
      Type.Object(
        {
          hook: HookName,
          message: Type.String({ description: "What it threw." }),
          occurredAt: Moment("When it happened."),
        },
        {
          title: "HookError",
          description: "An error of a lifecycle hook.",
          examples: [{ hook: "onFailure", message: "It failed.", occurredAt: AT }],
        },
      ),
      { description: "Errors thrown inside lifecycle hooks." },
    ),
    undoErrors: Type.Array(
      Type.Object(
        {
          step: StepKey,
          message: Type.String({ description: "Why it could not be undone." }),
          occurredAt: Moment("When it happened."),
        },
        {
          title: "UndoError",
          description: "A step that could not be undone.",
          examples: [{ step: "charge", message: "It failed.", occurredAt: AT }],
        },
      ),
      { description: "Steps that could not be undone, after the run had failed or was cancelled." },
    ),
  },
  {
    title: "Run",
    description: "A run of a workflow.",
    examples: [
      {
        ...run,
        input: { userId: "u1" },
        result: null,
        progress: { sent: 120 },
        steps: [STEP],
        waitingFor: [],
        hookErrors: [],
        undoErrors: [],
      },
    ],
  },
);
export type Run = Static<typeof Run>;

export const ListRuns = Type.Object(
  {
    limit: PageQuery.limit,
    cursor: Cursor("RunCursor", RUN_ID),
    status: Type.Optional(
      Type.String({
        title: "RunStatusFilter",
        format: "run-statuses",
        description: "Only runs with this status, or with one of several, separated by commas.",
        examples: ["failed"],
      }),
    ),
    workflowId: Type.Optional(
      Type.String({ title: "WorkflowFilter", format: "storable", description: "Only runs of this workflow.", examples: ["user.onboard"] }),
    ),
  },
  { additionalProperties: false },
);
export type ListRuns = Static<typeof ListRuns>;

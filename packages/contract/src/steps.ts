import { type Static, Type } from "typebox";
import { HttpCall } from "./http-calls.ts";
import { LIMITS } from "./limits.ts";
import { SIGNAL_ID } from "./names.ts";
import { Moment, Nullable } from "./paging.ts";
import { ReportedError, RunError } from "./run-errors.ts";
import { AT, STEP } from "./workflow-examples.ts";

export const STEP_TYPES = ["run", "value", "sleep", "event", "signal", "wait", "http", "invoke", "undo"] as const;
export type StepType = (typeof STEP_TYPES)[number];
const StepType = Type.Enum([...STEP_TYPES], { title: "StepType", description: "What the step does." });

export const STEP_STATUSES = ["completed", "failed", "waiting", "cancelled"] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];
const StepStatus = Type.Enum([...STEP_STATUSES], {
  title: "StepStatus",
  description: "The status of a step. `cancelled`: a sleep or a wait that the program no longer waits for.",
});

export const StepKey = Type.String({
  title: "StepKey",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.stepKeyLength,
  description: "Name of the step, unique in its run. Keys of the form `undo(…)` are only for steps of the type `undo`.",
  examples: ["load user"],
});

/** Why a step failed. */
const StepFailure = Type.Object(
  {
    ...RunError.properties,
    code: Type.Optional(Type.String({ description: "For an `http` step: why its last attempt failed. The codes are those of jobs." })),
    status: Type.Optional(
      Nullable(Type.Integer(), { description: "For an `http` step: the status of the last response; null when there was none." }),
    ),
  },
  { title: "StepFailure", description: "Why a step failed.", examples: [{ name: "Error", message: "The card was declined." }] },
);

export const RunStep = Type.Object(
  {
    key: StepKey,
    type: StepType,
    status: StepStatus,
    output: Nullable(Type.Unknown(), { description: "What a completed step returned." }),
    error: Nullable(StepFailure, { description: "Why a step failed." }),
    attempt: Type.Integer({ description: "Which attempt of the step had this outcome, from 1." }),
    startedAt: Moment("When it began."),
    endedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it got its outcome." }),
    wakeAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When a sleep ends, or a wait times out." }),
    signal: Nullable(Type.String(), { description: "The signal that a wait is for, or that a step has registered." }),
    undoable: Type.Boolean({ description: "Whether the program can undo it when the run fails or is cancelled." }),
  },
  { title: "RunStep", description: "A step of a run.", examples: [STEP] },
);
export type RunStep = Static<typeof RunStep>;

/** A step as the program reports it (docs/run-protocol.md). */
export const ReportedStep = Type.Object(
  {
    key: StepKey,
    type: StepType,
    status: StepStatus,
    output: Type.Optional(
      Type.Unknown({ description: "What a completed step returned: any JSON value of at most 1 MiB, null when left out." }),
    ),
    error: Type.Optional(ReportedError),
    undoable: Type.Optional(Type.Boolean({ description: "Whether the program can undo a completed step. Default: false." })),
    attempt: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Which attempt of the step this was. Default: 1." }),
    ),
    startedAt: Type.Optional(Type.String({ format: "date-time", description: "When it began. Default: the time of the report." })),
    sleepFor: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: LIMITS.delaySeconds * 1_000,
        description: "For a waiting sleep: how long it lasts from now. Milliseconds.",
      }),
    ),
    sleepUntil: Type.Optional(
      Type.String({ format: "date-time", description: "For a waiting sleep: when it ends. Instead of `sleepFor`." }),
    ),
    signal: Type.Optional(
      Type.String({
        format: "storable",
        pattern: SIGNAL_ID,
        minLength: 1,
        maxLength: LIMITS.signalIdLength,
        description: "For a wait: its signal.",
      }),
    ),
    timeout: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: LIMITS.delaySeconds * 1_000,
        description: "For a wait: how long it waits for its signal, from now. Milliseconds.",
      }),
    ),
    http: Type.Optional(HttpCall),
  },
  {
    title: "ReportedStep",
    description: "A step that a program has executed, or waits for.",
    additionalProperties: false,
    examples: [{ key: "load user", type: "run", status: "completed", output: { name: "Ada" }, attempt: 1, startedAt: AT }],
  },
);
export type ReportedStep = Static<typeof ReportedStep>;

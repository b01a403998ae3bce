import { type Static, Type } from "typebox";
import { HttpCall } from "./http-calls.ts";
import { Attempts, Backoff, IdempotencyKey, keyHeader, LastError } from "./jobs.ts";
import { LeaseToken } from "./leases.ts";
import { LIMITS } from "./limits.ts";
import { EventName, NAME, SIGNAL_ID } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { Cron, Timezone } from "./schedules.ts";

/** Source: contract §11. */
export const WorkflowId = Type.String({
  title: "WorkflowId",
  pattern: NAME,
  description: "Id of a workflow, unique in the workspace. Its author chooses it.",
  examples: ["user.onboard"],
});

export const RunId = Type.String({
  title: "RunId",
  pattern: "^run_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Identifier of a run.",
  examples: ["run_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

export const WorkflowPath = Type.Object({ name: WorkflowId });
export type WorkflowPath = Static<typeof WorkflowPath>;
export const RunPath = Type.Object({ id: RunId });
export type RunPath = Static<typeof RunPath>;

export const CodeVersion = Type.String({
  title: "CodeVersion",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.codeVersionLength,
  description: "Version of the code that executes the workflow.",
  examples: ["2026-11-23"],
});

/** The lifecycle hooks of workflows. Source: specification, Lifecycle hooks. */
export const HOOKS = ["onSuccess", "onFailure", "onCancel"] as const;
export type Hook = (typeof HOOKS)[number];
const HookName = Type.Enum([...HOOKS], { title: "Hook", description: "A lifecycle hook of a workflow." });

const EndpointUrl = Type.String({
  title: "EndpointUrl",
  format: "endpoint-url",
  maxLength: LIMITS.callbackUrlLength,
  description: "Address of the program that executes the workflow.",
  examples: ["https://example.com/tidemill"],
});

const ENDPOINT_SECRET = "^cbs_[A-Za-z0-9_-]{43}$";

const settings = {
  attempts: Type.Optional(Attempts),
  backoff: Type.Optional(Backoff),
  concurrency: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: LIMITS.concurrency }), {
      description: "How many executions of its code may be under way at once, hooks and undos included; null: no limit.",
    }),
  ),
  version: Type.Optional(Nullable(CodeVersion, { description: "The current version of the code, for people to see." })),
  events: Type.Optional(
    Type.Array(EventName, {
      maxItems: LIMITS.workflowEvents,
      uniqueItems: true,
      description: "Names of events that start runs of the workflow. Default: none.",
    }),
  ),
  cron: Type.Optional(Nullable(Cron, { description: "Starts a run at each tick of this cron expression. Default: none." })),
  timezone: Type.Optional(Nullable(Timezone, { description: "The time zone of `cron`. Each requires the other." })),
  hooks: Type.Optional(
    Type.Array(HookName, { uniqueItems: true, description: "Lifecycle hooks that the workflow's code has. Default: none." }),
  ),
  endpoint_url: Type.Optional(
    Nullable(EndpointUrl, { description: "Where executions of runs and hooks are sent; null: workers take them. Default: null." }),
  ),
  endpoint_timeout: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 900,
      description: "How long one execution at the `endpoint_url` may take. Seconds. Default: 30.",
    }),
  ),
  endpoint_secret: Type.Optional(
    Type.String({
      pattern: ENDPOINT_SECRET,
      description: "The secret to sign executions with, instead of a generated one, so that workflows at one URL can share it.",
    }),
  ),
  rotate_endpoint_secret: Type.Optional(
    Type.Boolean({ description: "Generates a new secret to sign executions with, which only this response contains." }),
  ),
};

const example = {
  attempts: 3,
  backoff: { type: "exponential", delay: 1000 },
  concurrency: null,
  version: "2026-11-23",
  events: ["user.created"],
  cron: "30 2 * * *",
  timezone: "Europe/Berlin",
  hooks: ["onFailure"],
};

export const PutWorkflow = Type.Object(settings, {
  title: "PutWorkflow",
  description: "Settings of a workflow. Settings that are left out get their defaults.",
  additionalProperties: false,
  examples: [example, { endpoint_url: "https://example.com/tidemill" }],
});
export type PutWorkflow = Static<typeof PutWorkflow>;

const at = "2026-11-23T09:30:00.000Z";
const onboard = {
  id: "user.onboard",
  ...example,
  endpoint_url: null,
  endpoint_timeout: 30,
  has_endpoint_secret: false,
  endpoint_stopped: null,
  nextRunAt: "2026-11-24T01:30:00.000Z",
  createdAt: at,
  updatedAt: at,
};

const workflowFields = {
  id: WorkflowId,
  attempts: Type.Integer({ description: "After how many failed executions a run fails." }),
  backoff: Backoff,
  concurrency: Nullable(Type.Integer(), {
    description: "How many executions of its code may be under way at once, hooks and undos included; null: no limit.",
  }),
  version: Nullable(Type.String(), { description: "The current version of the code." }),
  events: Type.Array(EventName, { description: "Names of events that start runs of it." }),
  cron: Nullable(Type.String(), { description: "The cron expression that starts runs of it." }),
  timezone: Nullable(Type.String(), { description: "The time zone of `cron`." }),
  nextRunAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When `cron` starts the next run." }),
  hooks: Type.Array(HookName, { description: "Lifecycle hooks that its code has." }),
  endpoint_url: Nullable(Type.String(), { description: "Where executions of runs and hooks are sent; null: workers take them." }),
  endpoint_timeout: Type.Integer({ description: "How long one execution at the `endpoint_url` may take. Seconds." }),
  has_endpoint_secret: Type.Boolean({ description: "Whether the workflow has a secret to sign executions with." }),
  endpoint_stopped: Nullable(
    Type.Object(
      {
        code: Type.Literal("PLAN_REQUIRED", { description: "The plan does not have callbacks." }),
        message: Type.String({ description: "The reason, for people." }),
      },
      { title: "EndpointStopped", description: "Why no executions are sent." },
    ),
    {
      description:
        "Why no executions are sent although there is an `endpoint_url`; null while they are sent. Runs wait until the plan has callbacks again.",
    },
  ),
  createdAt: Moment("When it was first registered."),
  updatedAt: Moment("When it was last registered."),
};

export const Workflow = Type.Object(workflowFields, { title: "Workflow", description: "A workflow.", examples: [onboard] });
export type Workflow = Static<typeof Workflow>;

/** A workflow in the response to a request that may generate a secret. */
export const WorkflowWithSecret = Type.Object(
  {
    ...workflowFields,
    endpoint_secret: Type.Optional(
      Type.String({
        pattern: ENDPOINT_SECRET,
        description: "The secret that executions are signed with. Only the response to the request that generated it contains it.",
      }),
    ),
  },
  {
    title: "WorkflowWithSecret",
    description: "A workflow, with its secret when this request generated one.",
    examples: [
      {
        ...onboard,
        endpoint_url: "https://example.com/tidemill",
        has_endpoint_secret: true,
        endpoint_secret: "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs",
      },
    ],
  },
);
export type WorkflowWithSecret = Static<typeof WorkflowWithSecret>;

export const ListWorkflows = Type.Object(
  { limit: PageQuery.limit, cursor: Cursor("WorkflowCursor", "d29ya2Zsb3cgMTIzNDU2Nw") },
  { additionalProperties: false },
);
export type ListWorkflows = Static<typeof ListWorkflows>;

const TRIGGER_KEY = "A name for this trigger, unique in the workflow. Another trigger with the same key starts no run, whatever its input.";

export const TriggerHeaders = Type.Object(keyHeader("TriggerKeyHeader", TRIGGER_KEY));

export const TriggerWorkflow = Type.Object(
  {
    input: Type.Optional(
      Type.Unknown({
        description:
          "The input of the workflow: any JSON value, null when left out. Strings in it may contain templates like `${{ secrets.NAME }}`.",
      }),
    ),
    idempotencyKey: Type.Optional({
      ...IdempotencyKey,
      title: "TriggerKey",
      description: TRIGGER_KEY,
    }),
    delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.delaySeconds, description: "How long the run waits before it starts. Seconds." }),
    ),
  },
  {
    title: "TriggerWorkflow",
    description: "Starts a run.",
    additionalProperties: false,
    examples: [{ input: { userId: "u1" }, idempotencyKey: "signup-u1" }],
  },
);
export type TriggerWorkflow = Static<typeof TriggerWorkflow>;

export const RUN_ID = "run_01kajv3k4ve6nsd9z5kgtzx0rw";

export const Triggered = Type.Object(
  {
    runIds: Type.Array(RunId, { description: "The run that was started, or the one that an earlier trigger with the same key started." }),
    duplicate: Type.Boolean({ description: "Whether the key had been used before, so that no run was started." }),
  },
  { title: "Triggered", description: "What a trigger has started.", examples: [{ runIds: [RUN_ID], duplicate: false }] },
);
export type Triggered = Static<typeof Triggered>;

export const TriggerMany = Type.Object(
  {
    triggers: Type.Array(TriggerWorkflow, {
      minItems: 1,
      maxItems: LIMITS.triggers,
      description: "Each starts a run or is refused, independently of the others.",
    }),
  },
  {
    title: "TriggerMany",
    description: "Starts many runs of one workflow.",
    additionalProperties: false,
    examples: [{ triggers: [{ input: { userId: "u1" } }, { input: { userId: "u2" }, idempotencyKey: "signup-u2" }] }],
  },
);
export type TriggerMany = Static<typeof TriggerMany>;

const TRIGGER_ERRORS = ["QUOTA_EXCEEDED", "PAYLOAD_TOO_LARGE", "VALIDATION_ERROR", "UNAVAILABLE"] as const;

export const TriggeredMany = Type.Object(
  {
    triggered: Type.Array(
      Type.Object(
        {
          runIds: Type.Array(RunId, { description: "As for one trigger; empty if it was refused." }),
          duplicate: Type.Boolean({ description: "Whether its key had been used before." }),
          code: Nullable(Type.Enum([...TRIGGER_ERRORS]), { description: "Why the trigger was refused; null if it was accepted." }),
          message: Nullable(Type.String(), { description: "The reason, in words." }),
          details: Type.Unknown({ description: "More about the refusal, as the error of one trigger has it." }),
        },
        { title: "TriggeredOne", description: "The outcome of one trigger." },
      ),
      { description: "The outcome of each trigger, in the order sent." },
    ),
  },
  {
    title: "TriggeredMany",
    description: "What triggers have started.",
    examples: [{ triggered: [{ runIds: [RUN_ID], duplicate: false, code: null, message: null, details: {} }] }],
  },
);
export type TriggeredMany = Static<typeof TriggeredMany>;

export const EventId = Type.String({
  title: "EventId",
  pattern: "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Identifier of an event.",
  examples: ["evt_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const eventFields = {
  name: EventName,
  data: Type.Optional(
    Type.Unknown({
      description:
        "What the workflows get as input: any JSON value of at most 1 MiB, null when left out. Strings in it may contain templates.",
    }),
  ),
  ts: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 8_640_000_000_000_000,
      description: "When the event happened. Milliseconds since 1970 (Unix time). Default: now.",
    }),
  ),
};
const eventExample = { name: "user.created", data: { userId: "u1" } };

const EVENT_KEY = "A name for this event, unique in the workspace. Another event with the same key, name and data starts no run.";

export const EventHeaders = Type.Object(keyHeader("EventKeyHeader", EVENT_KEY));

export const SendEvent = Type.Object(
  {
    ...eventFields,
    idempotencyKey: Type.Optional({
      ...IdempotencyKey,
      title: "EventKey",
      description: EVENT_KEY,
    }),
  },
  {
    title: "SendEvent",
    description: "An event. It starts a run of each workflow that is registered with its name.",
    additionalProperties: false,
    examples: [{ ...eventExample, idempotencyKey: "signup-u1" }],
  },
);
export type SendEvent = Static<typeof SendEvent>;

const sent = {
  eventId: EventId,
  runIds: Type.Array(RunId, { description: "The runs that it started." }),
};
const EVENT_ID = "evt_01kajv3k4ve6nsd9z5kgtzx0rw";

export const SentEvent = Type.Object(
  { ...sent, duplicate: Type.Boolean({ description: "Whether the key had been used before, so that no run was started." }) },
  { title: "SentEvent", description: "What an event has started.", examples: [{ eventId: EVENT_ID, runIds: [RUN_ID], duplicate: false }] },
);
export type SentEvent = Static<typeof SentEvent>;

/** Every status of a workflow run, in order of life. Source: contract §11; specification, Run states. */
export const RUN_STATUSES = ["pending", "running", "sleeping", "waiting", "completed", "failed", "cancelled"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];
const RunStatus = Type.Enum([...RUN_STATUSES], { title: "RunStatus", description: "The status of a run." });

export const RunError = Type.Object(
  {
    name: Type.String({ description: "Name of the error's class." }),
    message: Type.String({ description: "What went wrong." }),
  },
  { title: "RunError", description: "An error of a workflow's code.", examples: [{ name: "Error", message: "The card was declined." }] },
);
export type RunError = Static<typeof RunError>;

export const ReportedError = Type.Object(
  {
    name: Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.errorNameLength, description: "Name of the error's class." }),
    message: Type.String({ format: "storable", maxLength: LIMITS.workerErrorLength, description: "What went wrong." }),
  },
  {
    title: "ReportedError",
    description: "With `failed`: why the step failed.",
    additionalProperties: false,
    examples: [{ name: "Error", message: "The card was declined." }],
  },
);
export type ReportedError = Static<typeof ReportedError>;

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

const step = {
  key: "load user",
  type: "run",
  status: "completed",
  output: { name: "Ada" },
  error: null,
  attempt: 1,
  startedAt: at,
  endedAt: at,
  wakeAt: null,
  signal: null,
  undoable: false,
};

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
  { title: "RunStep", description: "A step of a run.", examples: [step] },
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
    examples: [{ key: "load user", type: "run", status: "completed", output: { name: "Ada" }, attempt: 1, startedAt: at }],
  },
);
export type ReportedStep = Static<typeof ReportedStep>;

const trigger = Type.Object(
  {
    type: Type.Enum(["api", "event", "schedule", "invoke"], { description: "What started the run." }),
    eventId: Type.Optional(EventId),
    name: Type.Optional(EventName),
    ts: Type.Optional(Type.Number({ description: "When the event happened. Milliseconds since 1970." })),
    scheduledFor: Type.Optional(Moment("The tick of the workflow's `cron`.")),
    runId: Type.Optional(RunId),
    step: Type.Optional(StepKey),
  },
  {
    title: "RunTrigger",
    description:
      "What started a run. `event`: an event, with its id, name and time. `schedule`: a tick of the workflow's `cron`. " +
      "`invoke`: a step of another run.",
    examples: [{ type: "api" }, { type: "event", eventId: EVENT_ID, name: "user.created", ts: 1_795_426_200_000 }],
  },
);

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
  createdAt: at,
  startedAt: at,
  endedAt: null,
};

const listed = {
  runId: RunId,
  workflowId: WorkflowId,
  version: Nullable(Type.String(), { description: "Version of the code that started the run; null before it is first executed." }),
  status: RunStatus,
  attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
  attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
  trigger,
  parentRunId: Nullable(RunId, { description: "The run whose step started this run; null: none." }),
  idempotencyKey: Nullable(Type.String(), { description: "The key that it was triggered with." }),
  error: Nullable(RunError, { description: "Why the run failed, or why its last execution failed." }),
  nextAttemptAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it is executed again after a failure." }),
  createdAt: Moment("When it was triggered."),
  startedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it was first executed." }),
  endedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it was completed, failed or cancelled." }),
};

export const ListedRun = Type.Object(listed, { title: "ListedRun", description: "A run in a list, without its data.", examples: [run] });
export type ListedRun = Static<typeof ListedRun>;

const WaitingFor = Type.Object(
  {
    type: Type.Enum(["sleep", "signal", "http", "invoke", "code", "worker"], {
      description:
        "What the run waits for. `code`: the journal does not fit the code, and the run continues with another version. `worker`: the run is due, " +
        "and is kept for a worker with its version.",
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
    nextAttemptAt: Type.Optional(Nullable(Moment("RFC 3339 in UTC."), { description: "When a call that failed is tried again." })),
    lastError: Type.Optional(Nullable(LastError, { description: "Why the last attempt of the call failed." })),
    journalVersion: Type.Optional(Nullable(Type.String(), { description: "With `code`: version of the code that started the run." })),
    codeVersion: Type.Optional(Nullable(Type.String(), { description: "With `code`: version of the code that the journal does not fit." })),
    version: Type.Optional(Type.String({ description: "With `worker`: the version of the code." })),
    reason: Type.Optional(Type.String({ description: "With `code`: what does not fit, and what to do." })),
  },
  {
    title: "WaitingFor",
    description: "What a run waits for.",
    examples: [{ type: "signal", step: "approval", signal: "approve.u1", timeoutAt: at }],
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
      description: "What the run waits for: code that its journal fits, and whatever its steps wait for.",
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
          examples: [{ hook: "onFailure", message: "It failed.", occurredAt: at }],
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
          examples: [{ step: "charge", message: "It failed.", occurredAt: at }],
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
        steps: [step],
        waitingFor: [],
        hookErrors: [],
        undoErrors: [],
      },
    ],
  },
);
export type Run = Static<typeof Run>;

/** A stream of a run's events, as one text. */
export const RunEvents = Type.String({
  title: "RunEvents",
  contentMediaType: "text/event-stream",
  description: "Events: `run`, `step`, `progress` and `status`. The data of each is JSON.",
  examples: ['event: progress\nid: 0.2.hq8Yt0cz.pXn3ZC0w\ndata: {"progress":{"sent":120}}\n\n'],
});

export const WatchHeaders = Type.Object({
  "Last-Event-ID": Type.Optional(
    Type.String({
      title: "LastEventId",
      description: "Id of the last event that the reader has. Without it, the stream begins with the run.",
      examples: ["0.2.hq8Yt0cz.pXn3ZC0w"],
    }),
  ),
});

/** An event of a run, as `GET /v1/runs/:id/events` sends it. */
export type RunEvent =
  /** The whole run: the first event, and the one after a retry. */
  | { readonly type: "run"; readonly run: Run }
  /** A step that is new in the journal, or has its outcome now. */
  | { readonly type: "step"; readonly step: RunStep }
  | { readonly type: "progress"; readonly progress: unknown }
  /** What a list shows of the run, and its result. */
  | { readonly type: "status"; readonly status: ListedRun & Pick<Run, "result"> };

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

const TOKEN = "1f-3a-1-pXn3ZC0w8bVb2xXq6p1yKQ";

/** The progress of a run, as its code reports it. */
export const Progress = Type.Unknown({ description: "The progress, as the code reports it: any JSON value of at most 4 KiB." });

export const ReportedSteps = Type.Object(
  {
    lease_token: LeaseToken,
    steps: Type.Optional(
      Type.Array(ReportedStep, { minItems: 1, maxItems: LIMITS.reportedSteps, description: "Steps that were executed." }),
    ),
    progress: Type.Optional(Progress),
  },
  {
    title: "ReportedSteps",
    description: "What a worker has executed of a run: `steps`, `progress`, or both.",
    additionalProperties: false,
    examples: [{ lease_token: TOKEN, steps: [{ key: "load user", type: "run", status: "completed", output: { name: "Ada" } }] }],
  },
);
export type ReportedSteps = Static<typeof ReportedSteps>;

/** An event that a step of a run sends (docs/run-protocol.md). */
export const SendStepEvent = Type.Object(
  { lease_token: LeaseToken, key: StepKey, ...eventFields },
  {
    title: "SendStepEvent",
    description: "An event that a step of a run sends.",
    additionalProperties: false,
    examples: [{ lease_token: TOKEN, key: "tell", ...eventExample }],
  },
);
export type SendStepEvent = Static<typeof SendStepEvent>;

export const StepEventSent = Type.Object(sent, {
  title: "StepEventSent",
  description: "The output of the step.",
  examples: [{ eventId: EVENT_ID, runIds: [RUN_ID] }],
});
export type StepEventSent = Static<typeof StepEventSent>;

/** A run that a step of a run starts, and waits for (docs/run-protocol.md). Source: specification, Workflow behavior 1. */
export const InvokeWorkflow = Type.Object(
  {
    lease_token: LeaseToken,
    key: StepKey,
    workflow: WorkflowId,
    input: Type.Optional(Type.Unknown({ description: "The input of the workflow: any JSON value of at most 1 MiB, null when left out." })),
    timeout: Type.Integer({
      minimum: 1,
      maximum: LIMITS.invokeTimeoutMs,
      description: "How long the step waits for the run. Milliseconds; at most 24 hours. The run that it waits for continues after that.",
    }),
  },
  {
    title: "InvokeWorkflow",
    description: "A run that a step of a run starts, and waits for.",
    additionalProperties: false,
    examples: [{ lease_token: TOKEN, key: "bill", workflow: "billing.start", input: { userId: "u1" }, timeout: 3_600_000 }],
  },
);
export type InvokeWorkflow = Static<typeof InvokeWorkflow>;

export const Invoked = Type.Object(
  { runId: RunId },
  { title: "Invoked", description: "The run that the step waits for.", examples: [{ runId: RUN_ID }] },
);
export type Invoked = Static<typeof Invoked>;

export const StepsStored = Type.Object(
  { steps: Type.Integer({ description: "How many steps the journal has." }) },
  { title: "StepsStored", description: "The steps are stored.", examples: [{ steps: 2 }] },
);
export type StepsStored = Static<typeof StepsStored>;

const reportedRun = { id: RUN_ID, lease_token: TOKEN };

/** What a worker has executed of several runs (docs/run-protocol.md). */
export const StepReports = Type.Object(
  {
    reports: Type.Array(
      Type.Object(
        { id: RunId, lease_token: LeaseToken, progress: Type.Optional(Progress) },
        { title: "ReportOfRun", description: "An execution, and its progress if that is reported.", additionalProperties: false },
      ),
      { minItems: 1, maxItems: LIMITS.stepReports, description: "The executions of which something is reported." },
    ),
    steps: Type.Optional(
      Type.Array(
        Type.Object(
          {
            report: Type.Integer({
              minimum: 0,
              maximum: LIMITS.stepReports - 1,
              description: "The place of its execution in `reports`, from 0.",
            }),
            ...ReportedStep.properties,
          },
          { title: "StepOfReport", description: "A step of one of the executions.", additionalProperties: false },
        ),
        {
          minItems: 1,
          maxItems: LIMITS.stepsOfReports,
          description: "Steps that were executed. Those of one execution are stored in this order.",
        },
      ),
    ),
  },
  {
    title: "StepReports",
    description: "What a worker has executed of several runs: steps of each, its `progress`, or both.",
    additionalProperties: false,
    examples: [
      { reports: [reportedRun], steps: [{ report: 0, key: "load user", type: "run", status: "completed", output: { name: "Ada" } }] },
    ],
  },
);
export type StepReports = Static<typeof StepReports>;

const REPORT_ERRORS = ["LEASE_LOST", "VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNAVAILABLE"] as const;

export const StepReportsStored = Type.Object(
  {
    reports: Type.Array(
      Type.Object(
        {
          id: RunId,
          ok: Type.Boolean({ description: "Whether it was stored." }),
          steps: Nullable(Type.Integer(), { description: "How many steps the journal has; null if the report was refused." }),
          code: Nullable(Type.Enum([...REPORT_ERRORS]), {
            description:
              "Why not: the error that `POST /v1/runs/:id/steps` responds with, or `LEASE_LOST` if there is no such run. `UNAVAILABLE`: secrets that " +
              "may be in the report cannot be read at the moment; it may be repeated.",
          }),
          message: Nullable(Type.String(), { description: "Why not, in words." }),
          details: Type.Unknown({ description: "More about the refusal, as the error of one report has it." }),
        },
        { title: "StoredReport", description: "Whether one report was stored." },
      ),
      { description: "Whether each report was stored, in the order sent." },
    ),
  },
  {
    title: "StepReportsStored",
    description: "Each report is stored or refused by itself.",
    examples: [{ reports: [{ id: RUN_ID, ok: true, steps: 2, code: null, message: null, details: {} }] }],
  },
);
export type StepReportsStored = Static<typeof StepReportsStored>;

/** An execution as its worker gets it (docs/run-protocol.md). */
export const TakenRun = Type.Object(
  {
    runId: RunId,
    workflowId: WorkflowId,
    version: Nullable(Type.String(), { description: "Version of the code that started the run." }),
    attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
    attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
    input: Type.Unknown({ description: "What the run was triggered with." }),
    trigger,
    createdAt: Moment("When it was triggered."),
    journal: Type.Array(RunStep, { description: "Its steps in the order of their outcomes, then waiting steps." }),
    undo: Type.Optional(Type.Boolean({ description: "True: the run has ended, and only its completed steps are to be undone." })),
    lease_token: LeaseToken,
    lease_expires_at: Moment("When the execution fails if the worker has neither ended it nor extended its lease."),
  },
  {
    title: "TakenRun",
    description: "A run that the worker now executes.",
    examples: [
      {
        runId: RUN_ID,
        workflowId: "user.onboard",
        version: "2026-11-23",
        attempt: 1,
        attempts: 3,
        input: { userId: "u1" },
        trigger: { type: "api" },
        createdAt: at,
        journal: [step],
        lease_token: TOKEN,
        lease_expires_at: "2026-11-23T09:30:30.000Z",
      },
    ],
  },
);
export type TakenRun = Static<typeof TakenRun>;

/** A run in flight with its journal, as a replay needs it. */
export const RunJournal = Type.Object(
  {
    runId: RunId,
    workflowId: WorkflowId,
    version: Nullable(Type.String(), { description: "Version of the code that started the run." }),
    status: RunStatus,
    attempt: Type.Integer({ description: "Number of this execution: those that failed before it, plus one." }),
    attempts: Type.Integer({ description: "After how many failed executions the run fails." }),
    input: Type.Unknown({ description: "What the run was triggered with." }),
    trigger,
    createdAt: Moment("When it was triggered."),
    journal: Type.Array(RunStep, { description: "Its steps in the order of their outcomes, then waiting steps." }),
  },
  {
    title: "RunJournal",
    description: "A run in flight, with its journal.",
    examples: [
      {
        runId: RUN_ID,
        workflowId: "user.onboard",
        version: "2026-11-23",
        status: "sleeping",
        attempt: 1,
        attempts: 3,
        input: { userId: "u1" },
        trigger: { type: "api" },
        createdAt: at,
        journal: [step],
      },
    ],
  },
);
export type RunJournal = Static<typeof RunJournal>;

export const ListJournals = Type.Object(
  { limit: PageQuery.limit, cursor: Cursor("RunJournalCursor", RUN_ID) },
  { additionalProperties: false },
);
export type ListJournals = Static<typeof ListJournals>;

/** The body of a request to an `endpoint_url` that executes a run (docs/run-protocol.md). */
export type PushedRun = Omit<TakenRun, "journal"> & {
  readonly kind: "run";
  /** Null: the journal is too large to be sent, and has to be fetched. */
  readonly journal: TakenRun["journal"] | null;
  /** If `journal` is null: how many steps it has. Older services leave it out. */
  readonly journalSteps?: number;
};

/** The body of a request to an `endpoint_url` that executes a hook. */
export type PushedHook = TakenHook & { readonly kind: "hook" };

/** Which page of the journal of its execution a program reads. */
export const ReadJournal = Type.Object(
  {
    lease_token: LeaseToken,
    limit: PageQuery.limit,
    cursor: Cursor("JournalCursor", "0-50"),
  },
  { additionalProperties: false },
);
export type ReadJournal = Static<typeof ReadJournal>;

export const JournalPage = Type.Object(
  {
    data: Type.Array(RunStep, { description: "Steps in the order of their outcomes, then waiting steps." }),
    next_cursor: Nullable(Type.String(), { description: "The `cursor` of the next page; null at the end of the journal." }),
  },
  { title: "JournalPage", description: "A part of a journal.", examples: [{ data: [step], next_cursor: null }] },
);
export type JournalPage = Static<typeof JournalPage>;

/** A lifecycle hook as its worker gets it (docs/run-protocol.md). */
export const TakenHook = Type.Object(
  {
    id: Type.String({
      title: "HookId",
      pattern: "^hook_[0-7][0-9a-hjkmnp-tv-z]{25}$",
      description: "Identifier of the hook of this run.",
      examples: ["hook_01kajv3k4ve6nsd9z5kgtzx0rw"],
    }),
    hook: HookName,
    runId: RunId,
    workflowId: WorkflowId,
    attempt: Type.Integer({ description: "The attempt in which the run ended." }),
    result: Type.Optional(Nullable(Type.Unknown(), { description: "With `onSuccess`: what the run returned." })),
    error: Type.Optional(
      Nullable(RunError, { description: "With `onFailure`: why the run failed. With `onCancel`: null, or why its last attempt failed." }),
    ),
    lease_token: LeaseToken,
    lease_expires_at: Moment("When the hook has failed if the worker has neither settled it nor extended its lease."),
  },
  {
    title: "TakenHook",
    description: "A lifecycle hook of a run that the worker now executes.",
    examples: [
      {
        id: "hook_01kajv3k4ve6nsd9z5kgtzx0rw",
        hook: "onFailure",
        runId: RUN_ID,
        workflowId: "user.onboard",
        attempt: 3,
        error: { name: "Error", message: "The card was declined." },
        lease_token: TOKEN,
        lease_expires_at: "2026-11-23T09:30:30.000Z",
      },
    ],
  },
);
export type TakenHook = Static<typeof TakenHook>;

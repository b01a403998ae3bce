import { type Static, Type } from "typebox";
import { ERRORS } from "./errors.ts";
import { TakenRun } from "./executions.ts";
import { TakenHook } from "./hooks.ts";
import { JobId } from "./jobs.ts";
import { LEASE_TOKEN, LeaseToken } from "./leases.ts";
import { LIMITS } from "./limits.ts";
import { QueueName } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";
import { Progress } from "./step-reports.ts";
import { ReportedStep, StepKey } from "./steps.ts";
import { WorkflowId } from "./workflow-ids.ts";

const WorkerName = Type.String({
  title: "WorkerName",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.workerNameLength,
  description: "Name of the worker, which it chooses itself. Processes with the same name count as one worker.",
  examples: ["mailer-7f3a"],
});

const LeaseSeconds = Type.Integer({
  minimum: 1,
  maximum: LIMITS.leaseSeconds,
  description: "How long the worker may hold each job without extending its lease. Seconds. Default: 30.",
});

const ExtendedSeconds = {
  ...LeaseSeconds,
  description: "How long the worker may hold each job from now on. Seconds. Default: 30, without shortening a lease that lasts longer.",
};

const WaitSeconds = Type.Integer({
  minimum: 0,
  maximum: LIMITS.workWaitSeconds,
  description:
    "How long the request waits if there is no job yet. Seconds. Default: 0. Waiting requests are ended in groups, so a request may end " +
    "without a job after two thirds of this time.",
});

const settleFields = {
  outcome: Type.Enum(["completed", "failed", "released"], {
    description:
      "How the attempt ended. `released`: the worker releases the job without using an attempt, for example because it is stopping.",
  }),
  result: Type.Optional(Type.Unknown({ description: "With `completed`: any JSON value of at most 64 KiB, stored with the job." })),
  error: Type.Optional(
    Type.String({
      format: "storable",
      minLength: 1,
      description: `With \`failed\` or \`unfit\`: what went wrong, for people to read. A job keeps the first 1,000 characters, and a run ${LIMITS.workerErrorLength.toLocaleString("en")}. Default: "The worker reported no error."; with \`unfit\`, "The journal does not fit the code."`,
    }),
  ),
  retry: Type.Optional(
    Type.Boolean({ description: "With `failed`: false sends the job to the dead-letter queue immediately. Default: true." }),
  ),
  retry_in: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.delaySeconds,
      description:
        "With `failed` or `released`: the shortest wait before the next attempt. Seconds. After a failure, the job's backoff applies if it is longer.",
    }),
  ),
};

/** A job, a run, or a hook of a run. */
const WorkId = Type.String({
  title: "WorkId",
  pattern: "^(job|run|hook)_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Identifier of a job, a run, or a hook of a run.",
  examples: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const ID = "job_01kajv3k4ve6nsd9z5kgtzx0rw";

export const SettleJob = Type.Object(
  {
    id: WorkId,
    lease_token: LeaseToken,
    ...settleFields,
    result: Type.Optional(Type.Unknown({ description: "With `completed`: any JSON value, at most 64 KiB for a job and 1 MiB for a run." })),
    outcome: Type.Enum(["completed", "failed", "suspended", "unfit", "released"], {
      description:
        "How the attempt ended. `suspended`: the run resumes when a waiting step has its outcome. `unfit`: the journal of the run does not " +
        "fit the code, and the run waits for another version of it. `released`: the worker releases the job or run without using an " +
        "attempt, for example because it is stopping.",
    }),
    error_name: Type.Optional(
      Type.String({
        format: "storable",
        minLength: 1,
        maxLength: LIMITS.errorNameLength,
        description: "With `failed`, for a run: name of the error's class. Default: `Error`.",
      }),
    ),
    step: Type.Optional({
      ...StepKey,
      title: "UnfitStep",
      description: "With `unfit`: key of the first step that does not fit. `error` says why.",
    }),
    retry_steps: Type.Optional(
      Type.Array(StepKey, {
        maxItems: LIMITS.retrySteps,
        description:
          "With `failed`, for a run: the step whose failure ended the run, and the steps that the program requested after it. " +
          "`POST /v1/runs/:id/retry` lets the run execute them again. Default: the failed steps with this error. With `retry: true`, the " +
          "run's next attempt executes again those of them that failed or were cancelled.",
      }),
    ),
    steps: Type.Optional(
      Type.Array(ReportedStep, {
        maxItems: LIMITS.reportedSteps,
        description: "For a run: steps that are not in the journal yet. Waiting steps are allowed only with `suspended`.",
      }),
    ),
    progress: Type.Optional({
      ...Progress,
      description: "For a run: its progress, as its code reports it. Any JSON value of at most 4 KiB.",
    }),
  },
  {
    title: "SettleJob",
    description: "The outcome of an attempt on a job, or of an execution of a run.",
    additionalProperties: false,
    examples: [{ id: ID, lease_token: LEASE_TOKEN, outcome: "completed", result: { sent: true } }],
  },
);
export type SettleJob = Static<typeof SettleJob>;

const { id: _id, lease_token: _token, ...outcomeFields } = SettleJob.properties;

/** What the program at an `endpoint_url` responds (docs/run-protocol.md). */
export const ExecutionOutcome = Type.Object(outcomeFields, {
  title: "ExecutionOutcome",
  description: "The outcome of an execution of a run, or of a hook.",
  additionalProperties: false,
  examples: [{ outcome: "completed", result: { sent: true } }],
});
export type ExecutionOutcome = Static<typeof ExecutionOutcome>;

export const WorkRequest = Type.Object(
  {
    worker: WorkerName,
    queues: Type.Optional(
      Type.Array(QueueName, {
        maxItems: LIMITS.workQueues,
        uniqueItems: true,
        description: "Queues to take jobs from. With neither queues nor workflows, the request only settles.",
        examples: [["emails"]],
      }),
    ),
    workflows: Type.Optional(
      Type.Array(WorkflowId, {
        maxItems: LIMITS.workWorkflows,
        uniqueItems: true,
        description: "Workflows to take runs of.",
        examples: [["user.onboard"]],
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.workJobs,
        description: "The largest number of jobs, runs and hooks to take. Default: 1.",
      }),
    ),
    lease: Type.Optional(LeaseSeconds),
    wait: Type.Optional(WaitSeconds),
    version: Type.Optional(
      Type.String({
        format: "storable",
        minLength: 1,
        maxLength: LIMITS.codeVersionLength,
        description:
          "Version of the worker's code. Runs continue on workers with the version that started them, as long as any of these ask for runs.",
      }),
    ),
    request: Type.Optional(
      Type.String({
        format: "storable",
        minLength: 1,
        maxLength: 64,
        description:
          "A name for this call. A call repeated with the same name returns the jobs that the first one took, as long as their leases hold, instead of more jobs. " +
          "An outcome that the first one stored is reported as stored.",
        examples: ["a81c-17"],
      }),
    ),
    repeat: Type.Optional(
      Type.Boolean({
        description:
          "Whether a call with this `request` may have been sent before. `false` says that it was not, so that the service need not look for " +
          "the jobs that it took. Default: true.",
      }),
    ),
    settle: Type.Optional(
      Type.Array(SettleJob, { maxItems: LIMITS.workJobs, description: "Outcomes of attempts on jobs that the worker took earlier." }),
    ),
  },
  {
    title: "WorkRequest",
    description: "What a worker has done, and what it asks for.",
    additionalProperties: false,
    examples: [{ worker: "mailer-7f3a", queues: ["emails"], limit: 10, lease: 30, wait: 20, settle: [] }],
  },
);
export type WorkRequest = Static<typeof WorkRequest>;

const leaseFields = {
  lease_token: LeaseToken,
  lease_expires_at: Moment("When the attempt fails if the worker has neither settled the job nor extended its lease. RFC 3339 in UTC."),
};

const taken = {
  id: ID,
  queue: "emails",
  attempt: 1,
  attempts: 3,
  tag: "welcome",
  created_at: "2026-11-21T09:30:00.000Z",
  schedule: null,
  scheduled_for: null,
  traceparent: null,
  tracestate: null,
  payload: { to: "ada@example.com" },
  lease_token: LEASE_TOKEN,
  lease_expires_at: "2026-11-21T09:30:30.000Z",
};
const settled = { id: ID, ok: true, code: null, message: null };
const extended = { id: ID, ok: true, lease_expires_at: "2026-11-21T09:30:30.000Z" };

export const TakenJob = Type.Object(
  {
    id: JobId,
    queue: QueueName,
    attempt: Type.Integer({ description: "Which attempt this is, from 1." }),
    attempts: Type.Integer({ description: "How many attempts the job has at most." }),
    tag: Nullable(Type.String(), { description: "The job's tag." }),
    created_at: Moment("When the job was enqueued."),
    schedule: Nullable(Type.String(), { description: "Name of the schedule that created the job." }),
    scheduled_for: Nullable(Moment("RFC 3339 in UTC."), { description: "The tick for which the schedule created it." }),
    traceparent: Nullable(Type.String(), { description: "The trace of the request that enqueued the job (W3C Trace Context)." }),
    tracestate: Nullable(Type.String(), { description: "What vendors added to the trace." }),
    payload: Type.Unknown({ description: "The payload as it was enqueued, with its templates replaced by secrets." }),
    ...leaseFields,
  },
  { title: "TakenJob", description: "A job that the worker now holds.", examples: [taken] },
);
export type TakenJob = Static<typeof TakenJob>;

const SETTLE_ERRORS = ["LEASE_LOST", "PAYLOAD_TOO_LARGE", "UNAVAILABLE", "VALIDATION_ERROR"] as const;

const Settled = Type.Object(
  {
    id: WorkId,
    ok: Type.Boolean({ description: "Whether the outcome was stored." }),
    code: Nullable(Type.Enum([...SETTLE_ERRORS]), {
      description:
        `Why not. \`LEASE_LOST\`: ${ERRORS.LEASE_LOST.message} \`PAYLOAD_TOO_LARGE\`: the result is too large; the worker still holds the ` +
        "job. `UNAVAILABLE`: secrets that may be in the result cannot be read at the moment; report it again while the lease holds.",
    }),
    message: Nullable(Type.String(), { description: "Why not, in words." }),
  },
  { title: "Settled", description: "Whether an outcome was stored.", examples: [settled] },
);
export type Settled = Static<typeof Settled>;

const cancelled = Type.Array(WorkId, {
  description: "Jobs and runs of this worker that were cancelled while it held them. Their outcomes no longer count.",
});

export const WorkResponse = Type.Object(
  {
    jobs: Type.Array(TakenJob, { description: "The jobs that were taken, highest priority first, then oldest first." }),
    runs: Type.Array(TakenRun, { description: "The runs that were taken." }),
    hooks: Type.Array(TakenHook, { description: "The lifecycle hooks of runs that were taken." }),
    settled: Type.Array(Settled, { description: "Whether each outcome was stored, in the order sent." }),
    cancelled,
    waited_ms: Nullable(Type.Number(), {
      description:
        "How long the request had waited before its jobs, runs and hooks were taken: their leases began at least this long after it was " +
        "received. Milliseconds. Null: an earlier call with the same `request` took them.",
    }),
  },
  {
    title: "WorkResponse",
    description: "What the worker is to do next.",
    examples: [{ jobs: [taken], runs: [], hooks: [], settled: [settled], cancelled: [], waited_ms: 1_843.2 }],
  },
);
export type WorkResponse = Static<typeof WorkResponse>;

const HeldLease = Type.Object(
  { id: WorkId, lease_token: LeaseToken },
  {
    title: "HeldLease",
    description: "A job or run that the worker holds.",
    additionalProperties: false,
    examples: [{ id: ID, lease_token: LEASE_TOKEN }],
  },
);

export const ExtendRequest = Type.Object(
  {
    worker: Type.Optional(WorkerName),
    leases: Type.Array(HeldLease, {
      minItems: 1,
      maxItems: LIMITS.extendJobs,
      description: "Jobs that the worker still works on.",
    }),
    lease: Type.Optional(ExtendedSeconds),
    wait: Type.Optional({
      ...WaitSeconds,
      description: "How long the response may wait for a job of the worker to be cancelled. Seconds. Default: 0.",
    }),
  },
  {
    title: "ExtendRequest",
    description: "Jobs whose leases to extend.",
    additionalProperties: false,
    examples: [{ worker: "mailer-7f3a", leases: [{ id: ID, lease_token: LEASE_TOKEN }], lease: 30 }],
  },
);
export type ExtendRequest = Static<typeof ExtendRequest>;

const Extended = Type.Object(
  {
    id: WorkId,
    ok: Type.Boolean({ description: "Whether the worker still holds the job." }),
    lease_expires_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the lease ends now. Null: the job is lost." }),
  },
  { title: "Extended", description: "Whether a lease was extended.", examples: [extended] },
);

export const ExtendResponse = Type.Object(
  { leases: Type.Array(Extended, { description: "The leases, in the order sent." }), cancelled },
  { title: "ExtendResponse", description: "Which leases were extended.", examples: [{ leases: [extended], cancelled: [] }] },
);
export type ExtendResponse = Static<typeof ExtendResponse>;

/** The calls for one queue and one job, for people with curl. */
export const ClaimJobs = Type.Object(
  { worker: WorkerName, limit: WorkRequest.properties.limit, lease: WorkRequest.properties.lease, wait: WorkRequest.properties.wait },
  {
    title: "ClaimJobs",
    description: "Takes jobs of one queue.",
    additionalProperties: false,
    examples: [{ worker: "mailer-7f3a", limit: 1 }],
  },
);
export type ClaimJobs = Static<typeof ClaimJobs>;
export const CompleteJob = Type.Object(
  { lease_token: LeaseToken, result: settleFields.result },
  {
    title: "CompleteJob",
    description: "A successful attempt.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, result: { sent: true } }],
  },
);
export const FailJob = Type.Object(
  { lease_token: LeaseToken, error: settleFields.error, retry: settleFields.retry, retry_in: settleFields.retry_in },
  {
    title: "FailJob",
    description: "A failed attempt.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, error: "No such mailbox." }],
  },
);
export type FailJob = Static<typeof FailJob>;
export const HeartbeatJob = Type.Object(
  { lease_token: LeaseToken, lease: Type.Optional(ExtendedSeconds) },
  {
    title: "HeartbeatJob",
    description: "A lease to extend.",
    additionalProperties: false,
    examples: [{ lease_token: LEASE_TOKEN, lease: 60 }],
  },
);
export type HeartbeatJob = Static<typeof HeartbeatJob>;

export const WorkerRecord = Type.Object(
  {
    name: WorkerName,
    version: Nullable(Type.String(), { description: "Version of its code, as the worker reported it." }),
    queues: Type.Array(QueueName, { description: "Queues whose jobs it asked for lately." }),
    workflows: Type.Array(WorkflowId, { description: "Workflows whose runs it asked for lately." }),
    in_flight: Type.Integer({ description: "Jobs, runs and hooks that it holds." }),
    last_seen_at: Moment("When it last called or extended a lease, accurate to half a minute. RFC 3339 in UTC."),
  },
  {
    title: "Worker",
    description: "A worker that called in the last 15 minutes.",
    examples: [
      {
        name: "mailer-7f3a",
        version: "1.4.0",
        queues: ["emails"],
        workflows: [],
        in_flight: 3,
        last_seen_at: "2026-11-21T09:30:00.000Z",
      },
    ],
  },
);
export type WorkerRecord = Static<typeof WorkerRecord>;

export const ListWorkers = Type.Object(
  { ...PageQuery, cursor: Cursor("WorkerCursor", "d29ya2VyIG1haWxlci03ZjNh") },
  { additionalProperties: false },
);
export type ListWorkers = Static<typeof ListWorkers>;

import { type Static, Type } from "typebox";
import { LIMITS } from "./limits.ts";
import { ConcurrencyKey, QueueFilter, QueueName, Tag, TagFilter } from "./names.ts";
import { Moment, Nullable, PageQuery } from "./paging.ts";

/** The states of a job, in order of life. Source: contract §4. */
export const JOB_STATES = ["waiting", "delayed", "pending_approval", "active", "completed", "failed", "cancelled", "rejected"] as const;
export type JobState = (typeof JOB_STATES)[number];
export const JobState = Type.Enum([...JOB_STATES], {
  title: "JobState",
  description:
    "Where the job is in its life. `waiting`: it may start. `delayed`: it is not due yet, or it waits between attempts. `pending_approval`: " +
    "it waits for a decision. `active`: an attempt is under way. `completed`, `failed`, `cancelled` and `rejected`: it has finished.",
});

/** Why an attempt did not succeed. Source: contract §4, Callback. */
export const ATTEMPT_ERRORS = [
  "HTTP_STATUS",
  "TIMEOUT",
  "CONNECTION",
  "DNS",
  "BLOCKED_ADDRESS",
  "REDIRECT",
  "SECRET_NOT_FOUND",
  "SECRET_NOT_ALLOWED",
  "SECRET_UNREADABLE",
  "TEMPLATE_INVALID",
  "WORKER_FAILED",
  "LEASE_EXPIRED",
  "NODE_LOST",
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];
export const AttemptError = Type.Enum([...ATTEMPT_ERRORS], {
  title: "AttemptError",
  description:
    "Why an attempt did not succeed. `HTTP_STATUS`: the handler responded with an error. `TIMEOUT`, `CONNECTION`: it did not respond. " +
    "`DNS`: its name has no address that callbacks may reach. `BLOCKED_ADDRESS`: its address is not allowed. `REDIRECT`: it redirected, which callbacks do not follow. `SECRET_…`, `TEMPLATE_INVALID`: a " +
    "template could not be filled in. `WORKER_FAILED`, `LEASE_EXPIRED`: a worker failed or was lost. `NODE_LOST`: the node was lost.",
});

/** How an attempt ended: `lost` with its node, or `released` by a node that was stopping. */
export const ATTEMPT_OUTCOMES = ["completed", "failed", "cancelled", "lost", "released"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];
const AttemptOutcome = Type.Enum([...ATTEMPT_OUTCOMES], {
  title: "AttemptOutcome",
  description: "How the attempt ended. `lost`: its node was lost. `released`: its node was stopping and released the job.",
});

/** Names a group of failed jobs. It is in this file because the groups refer to jobs. */
export const Fingerprint = Type.String({
  title: "Fingerprint",
  pattern: "^[0-9a-f]{16}$",
  description: "Only failed jobs of this group: a `fingerprint` of `GET /v1/dlq/groups`.",
  examples: ["5f1c0a9b3e7d2468"],
});

export const JobId = Type.String({
  title: "JobId",
  pattern: "^job_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a job; the same through all its attempts.",
  examples: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const REPEATED =
  "A name for the job, unique in its queue. A job sent again with the same key is not enqueued twice: the response contains the first job.";

/** A caller's name for a job, so that the same job sent twice is enqueued once. Source: contract §1, Idempotency. */
export const IdempotencyKey = Type.String({
  title: "IdempotencyKey",
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.idempotencyKeyLength,
  description: REPEATED,
  examples: ["order-1815-receipt"],
});

export const Priority = Type.Integer({
  title: "Priority",
  minimum: -100,
  maximum: 100,
  description: "Jobs with a higher priority start before others. Default: 0.",
});

export const Attempts = Type.Integer({
  title: "Attempts",
  minimum: 1,
  maximum: LIMITS.attempts,
  description: "How often a job is tried before it fails, the first attempt included.",
});

export const Backoff = Type.Object(
  {
    type: Type.Optional(Type.Literal("exponential", { description: "The only type there is." })),
    delay: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.backoffMs,
        description:
          "The wait before the second attempt. It doubles with each further attempt, up to 24 hours. Milliseconds; values below 10 count as 10.",
      }),
    ),
  },
  { title: "Backoff", additionalProperties: false, description: "How long a job waits between its attempts.", examples: [{ delay: 2000 }] },
);

export const EnqueueJob = Type.Object(
  {
    payload: Type.Unknown({
      description:
        "Any JSON value, at most 1 MiB. The handler receives it as it was sent, with templates like `${{ secrets.NAME }}` in its strings replaced by secrets.",
      examples: [{ to: "ada@example.com" }],
    }),
    delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.delaySeconds, description: "How long the job waits before it is due. Seconds." }),
    ),
    run_at: Type.Optional(Moment("When the job is due; instead of `delay`.")),
    tag: Type.Optional(Tag),
    priority: Type.Optional(Priority),
    concurrencyKey: Type.Optional(ConcurrencyKey),
    attempts: Type.Optional(Attempts),
    backoff: Type.Optional(Backoff),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  {
    title: "EnqueueJob",
    description: "A job to enqueue. `attempts` and `backoff` default to the queue's `defaultJobOptions`.",
    additionalProperties: false,
    examples: [{ payload: { to: "ada@example.com" }, tag: "welcome" }],
  },
);
export type EnqueueJob = Static<typeof EnqueueJob>;

const traceHeaders = {
  traceparent: Type.Optional(
    Type.String({
      title: "TraceparentHeader",
      description:
        "The trace that the jobs belong to (W3C Trace Context). It is stored and passed on with each attempt; an invalid one is ignored.",
      examples: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    }),
  ),
  tracestate: Type.Optional(
    Type.String({ title: "TracestateHeader", description: "Passed on with `traceparent`, up to 512 characters.", examples: ["vendor=1"] }),
  ),
};

/** A request may give its key in this header instead of the body. Only ASCII: no standard says what other bytes in headers mean. */
export const keyHeader = (title: string, meaning: string) => ({
  "Idempotency-Key": Type.Optional({
    ...IdempotencyKey,
    title,
    description: `${meaning} The same as \`idempotencyKey\` in the body; printable ASCII only.`,
    pattern: "^[ -~]*$",
  }),
});

export const EnqueueHeaders = Type.Object({
  ...keyHeader("IdempotencyKeyHeader", REPEATED),
  ...traceHeaders,
});

/** A batch may have a key as a whole. */
export const EnqueueBatchHeaders = Type.Object({
  "Idempotency-Key": Type.Optional({
    ...IdempotencyKey,
    title: "BatchKeyHeader",
    description:
      "A name for the batch, unique in its queue for a day. A batch sent again with the same key is not enqueued twice: the response contains " +
      "the jobs of the first. Its jobs may not have keys of their own; printable ASCII only.",
    pattern: "^[ -~]*$",
  }),
  ...traceHeaders,
});

const jobList = Type.Array(EnqueueJob, {
  minItems: 1,
  maxItems: LIMITS.batchJobs,
  description: `The jobs, at most ${LIMITS.batchJobs.toLocaleString("en")}.`,
});

/** `{ "jobs": [ … ] }` or the bare array. */
export const EnqueueBatch = Type.Union(
  [
    Type.Object(
      { jobs: jobList },
      { title: "EnqueueJobs", description: "Jobs to enqueue together: all of them or none.", additionalProperties: false },
    ),
    jobList,
  ],
  {
    title: "EnqueueBatch",
    description: "Jobs to enqueue together, as an object or as the bare array.",
    examples: [{ jobs: [{ payload: { to: "ada@example.com" } }, { payload: { to: "alan@example.com" }, delay: 60 }] }],
  },
);

export const LastError = Type.Object(
  {
    code: AttemptError,
    message: Type.String({ description: "What happened, for people." }),
    status: Nullable(Type.Integer(), { description: "HTTP status of the handler's response; null when there was none." }),
  },
  { title: "LastError", description: "Why an attempt did not succeed, in detail." },
);
export type LastError = Static<typeof LastError>;

/** How a job of an approval queue was decided. Source: contract §5. */
export const Decision = Type.Object(
  {
    decision: Type.Enum(["approved", "rejected"], { title: "DecisionKind", description: "What was decided." }),
    by: Nullable(Type.String(), {
      description: "Who decided, as the caller gave it; null when the caller gave no name, or when the approval timed out.",
    }),
    comment: Nullable(Type.String(), { description: "The approval's `comment` or the rejection's `reason`." }),
    decided_at: Moment("When it was decided."),
  },
  { title: "Decision", description: "How a job of an approval queue was decided." },
);
export type Decision = Static<typeof Decision>;

export const AttemptEntry = Type.Object(
  {
    attempt: Type.Integer({ description: "Number of the attempt, from 1." }),
    started_at: Moment("When the attempt started."),
    duration_ms: Type.Number({ description: "How long the attempt took. Milliseconds." }),
    outcome: AttemptOutcome,
    status: Nullable(Type.Integer(), { description: "HTTP status of the handler's response; null when there was none." }),
    error: Nullable(LastError, { description: "Why the attempt did not succeed; null when it did." }),
    worker: Nullable(Type.String(), { description: "The worker that ran the attempt; null for a callback." }),
  },
  { title: "AttemptEntry", description: "One attempt of a job." },
);
export type AttemptEntry = Static<typeof AttemptEntry>;

const jobFields = {
  id: JobId,
  queue: QueueName,
  state: JobState,
  payload: Type.Unknown({ description: "The JSON value that was enqueued, with its templates as they were sent." }),
  tag: Nullable(Type.String(), { description: "The tag that the job was enqueued with." }),
  priority: Type.Integer({ description: "The priority that the job was enqueued with, -100 to 100." }),
  concurrencyKey: Nullable(Type.String(), { description: "The concurrency key that the job was enqueued with." }),
  idempotencyKey: Nullable(Type.String(), { description: "The idempotency key that the job was enqueued with." }),
  attempt: Type.Integer({ description: "Attempts started so far." }),
  attempts: Type.Integer({
    description: "Attempts allowed. A manual retry allows more, and so does the loss of a node during an attempt.",
  }),
  run_at: Moment("When the job is, or was, due."),
  created_at: Moment("When the job was enqueued."),
  started_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the newest attempt started; null before the first." }),
  finished_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the job finished; null before that." }),
  result: Type.Unknown({ description: "The JSON body of the handler's successful response, at most 64 KiB; null when there is none." }),
  schedule: Nullable(Type.String(), { description: "Name of the schedule that created the job; null for an enqueued job." }),
  scheduled_for: Nullable(Moment("RFC 3339 in UTC."), { description: "The tick of the schedule that the job was created for." }),
  approval: Nullable(Decision, { description: "How the job was decided; null without a decision." }),
  last_error: Nullable(LastError, { description: "Why the newest unsuccessful attempt did not succeed; null when there is none." }),
};

const jobExample = {
  id: "job_01kajv3k4ve6nsd9z5kgtzx0rw",
  queue: "emails",
  state: "completed",
  payload: { to: "ada@example.com" },
  tag: "welcome",
  priority: 0,
  concurrencyKey: null,
  idempotencyKey: null,
  attempt: 1,
  attempts: 3,
  run_at: "2026-11-21T09:30:00.000Z",
  created_at: "2026-11-21T09:30:00.000Z",
  started_at: "2026-11-21T09:30:00.004Z",
  finished_at: "2026-11-21T09:30:00.021Z",
  result: { sent: true },
  schedule: null,
  scheduled_for: null,
  approval: null,
  last_error: null,
};

/** A job. Source: specification, Job; contract §4. */
export const Job = Type.Object(jobFields, {
  title: "Job",
  description: "A job: one payload, and the state of its delivery.",
  examples: [jobExample],
});
export type Job = Static<typeof Job>;

/** A job with one entry per attempt: GET of one job. */
export const JobWithLog = Type.Object(
  {
    ...jobFields,
    attempts_log: Type.Array(AttemptEntry, {
      description: "The attempts that have ended, oldest first. If there are very many, only the latest.",
    }),
  },
  {
    title: "JobWithLog",
    description: "A job with its attempts.",
    examples: [
      {
        ...jobExample,
        attempts_log: [
          {
            attempt: 1,
            started_at: "2026-11-21T09:30:00.004Z",
            duration_ms: 16.8,
            outcome: "completed",
            status: 200,
            error: null,
            worker: null,
          },
        ],
      },
    ],
  },
);
export type JobWithLog = Static<typeof JobWithLog>;

const duplicate = Type.Literal(true, {
  description: "The idempotency key was already used: this is the job that was enqueued with it, in its current state.",
});
const duplicateExample = { ...jobExample, idempotencyKey: "order-1815-receipt", duplicate: true };

/** The response to a job that had been enqueued before. Source: contract §1, Idempotency. */
export const DuplicateJob = Type.Object(
  { ...jobFields, duplicate },
  {
    title: "DuplicateJob",
    description: "The job that was enqueued earlier with the same idempotency key. Nothing was enqueued.",
    examples: [duplicateExample],
  },
);

/** The jobs of a batch, in the order sent. */
export const EnqueuedBatch = Type.Object(
  {
    jobs: Type.Array(
      Type.Object(
        { ...jobFields, duplicate: Type.Optional(duplicate) },
        { title: "EnqueuedJob", description: "A job of a batch; `duplicate` is present when it had been enqueued before." },
      ),
      { description: "The jobs, in the order sent." },
    ),
  },
  { title: "EnqueuedBatch", description: "The jobs of a batch, at least one of them new.", examples: [{ jobs: [jobExample] }] },
);
export type EnqueuedBatch = Static<typeof EnqueuedBatch>;

/** The jobs of a batch that had all been enqueued before, in the order sent. */
export const DuplicateBatch = Type.Object(
  { jobs: Type.Array(DuplicateJob, { description: "The jobs, in the order sent." }) },
  {
    title: "DuplicateBatch",
    description: "The jobs of a batch that had all been enqueued before. Nothing was enqueued.",
    examples: [{ jobs: [duplicateExample] }],
  },
);

export const JobPath = Type.Object({ name: QueueName, id: JobId });
export type JobPath = Static<typeof JobPath>;

export const ListJobs = Type.Object(
  {
    ...PageQuery,
    state: Type.Optional(
      Type.String({
        title: "JobStateFilter",
        format: "job-states",
        description: "Only jobs in this state, or in one of several, separated by commas.",
        examples: ["waiting,delayed"],
      }),
    ),
    tag: Type.Optional(TagFilter),
  },
  { additionalProperties: false },
);
export type ListJobs = Static<typeof ListJobs>;

/** Selects jobs of the dead-letter queue: filters that are given together must all match. */
export const DeadLetterFilter = Type.Object(
  {
    queue: Type.Optional(
      Type.String({ format: "storable", description: "Only jobs of this queue, which must exist.", examples: ["emails"] }),
    ),
    tag: Type.Optional(
      Type.String({ format: "storable", maxLength: LIMITS.tagLength, description: "Only jobs with this tag.", examples: ["welcome"] }),
    ),
    error: Type.Optional(AttemptError),
    fingerprint: Type.Optional(Fingerprint),
  },
  {
    title: "DeadLetterFilter",
    description: "Which failed jobs the request is for: those that match every given filter. Without a filter, every failed job.",
    additionalProperties: false,
    examples: [{ queue: "emails", error: "TIMEOUT" }],
  },
);
export type DeadLetterFilter = Static<typeof DeadLetterFilter>;
export const Purged = Type.Object(
  { purged: Type.Integer({ description: "How many jobs were removed." }) },
  { title: "Purged", description: "The outcome of a purge.", examples: [{ purged: 17 }] },
);
export type Purged = Static<typeof Purged>;

export const ListDeadLetters = Type.Object(
  {
    ...PageQuery,
    queue: Type.Optional(QueueFilter),
    tag: Type.Optional(TagFilter),
    error: Type.Optional(
      Type.String({
        title: "AttemptErrorFilter",
        format: "attempt-errors",
        description: "Only jobs whose last error has this code, or one of several, separated by commas.",
        examples: ["TIMEOUT"],
      }),
    ),
    fingerprint: Type.Optional(Fingerprint),
  },
  { additionalProperties: false },
);
export type ListDeadLetters = Static<typeof ListDeadLetters>;

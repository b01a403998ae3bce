import { type Static, Type } from "typebox";
import { LIMITS } from "./limits.ts";
import { Nullable, PageQuery, Timestamp } from "./paging.ts";

/** The states of a job, in order of life. Source: contract §4. */
export const JOB_STATES = ["waiting", "delayed", "pending_approval", "active", "completed", "failed", "cancelled", "rejected"] as const;
export type JobState = (typeof JOB_STATES)[number];

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

/** How an attempt ended: `lost` with its node, or `released` by a node that was stopping. */
export const ATTEMPT_OUTCOMES = ["completed", "failed", "cancelled", "lost", "released"] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export const JobId = Type.String({
  pattern: "^job_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of a job; the same through all its attempts.",
  examples: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"],
});

const Tag = Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.tagLength, examples: ["welcome"] });

/** What a caller names a job by, so that the job sent again is the same one. Source: contract §1, Idempotency. */
export const IdempotencyKey = Type.String({
  format: "storable",
  minLength: 1,
  maxLength: LIMITS.idempotencyKeyLength,
  description: "Names the job in its queue: sent again with the same key it is the same job, and no second one.",
  examples: ["order-1815-receipt"],
});

export const EnqueueJob = Type.Object(
  {
    payload: Type.Unknown({
      description:
        "Any JSON value; it reaches the handler as it was sent, with secrets in place of templates like `${{ secrets.NAME }}` in its strings.",
      examples: [{ to: "ada@example.com" }],
    }),
    delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LIMITS.delaySeconds, description: "Wait before the job is eligible. Seconds." }),
    ),
    run_at: Type.Optional(Type.String({ format: "date-time", description: "The moment the job becomes eligible; instead of `delay`." })),
    tag: Type.Optional(Tag),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100, default: 0, description: "Higher goes first." })),
    concurrencyKey: Type.Optional(Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.concurrencyKeyLength })),
    attempts: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: "Attempts allowed; the queue's default when left out." }),
    ),
    backoff: Type.Optional(
      Type.Object(
        {
          type: Type.Optional(Type.Literal("exponential")),
          delay: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, description: "Milliseconds." })),
        },
        { additionalProperties: false },
      ),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { additionalProperties: false, examples: [{ payload: { to: "ada@example.com" }, tag: "welcome" }] },
);
export type EnqueueJob = Static<typeof EnqueueJob>;

/** The header may name the job of a single enqueue in place of its body. In ASCII: what other bytes of a header mean nobody says. */
export const EnqueueHeaders = Type.Object({ "Idempotency-Key": Type.Optional({ ...IdempotencyKey, pattern: "^[ -~]*$" }) });

const jobList = Type.Array(EnqueueJob, { minItems: 1, maxItems: LIMITS.batchJobs });

/** `{ "jobs": [ … ] }` or the bare array. */
export const EnqueueBatch = Type.Union([Type.Object({ jobs: jobList }, { additionalProperties: false }), jobList], {
  examples: [{ jobs: [{ payload: { to: "ada@example.com" } }, { payload: { to: "alan@example.com" }, delay: 60 }] }],
});

export const LastError = Type.Object({
  code: Type.Enum([...ATTEMPT_ERRORS]),
  message: Type.String(),
  status: Nullable(Type.Integer({ description: "The handler's HTTP status, where there was one." })),
});
export type LastError = Static<typeof LastError>;

/** How a job of an approval queue was decided. Source: contract §5. */
export const Decision = Type.Object({
  decision: Type.Enum(["approved", "rejected"]),
  by: Nullable(Type.String({ description: "Who decided, as the caller says; null when nobody did in time, or it was not said." })),
  comment: Nullable(Type.String({ description: "What was said: the approval's `comment` or the rejection's `reason`." })),
  decided_at: Timestamp,
});
export type Decision = Static<typeof Decision>;

export const AttemptEntry = Type.Object({
  attempt: Type.Integer(),
  started_at: Timestamp,
  duration_ms: Type.Number(),
  outcome: Type.Enum([...ATTEMPT_OUTCOMES]),
  status: Nullable(Type.Integer()),
  error: Nullable(LastError),
  worker: Nullable(Type.String()),
});
export type AttemptEntry = Static<typeof AttemptEntry>;

const jobFields = {
  id: JobId,
  queue: Type.String(),
  state: Type.Enum([...JOB_STATES]),
  payload: Type.Unknown({ description: "As it was sent." }),
  tag: Nullable(Type.String()),
  priority: Type.Integer(),
  concurrencyKey: Nullable(Type.String()),
  idempotencyKey: Nullable(Type.String()),
  attempt: Type.Integer({ description: "Attempts started so far." }),
  attempts: Type.Integer({ description: "Attempts allowed; a retry by hand, or a node lost under way, allows more." }),
  run_at: Timestamp,
  created_at: Timestamp,
  started_at: Nullable(Timestamp),
  finished_at: Nullable(Timestamp),
  result: Type.Unknown({ description: "JSON that the handler answered with; null when there is none." }),
  schedule: Nullable(Type.String({ description: "Name of the schedule that made the job." })),
  scheduled_for: Nullable(Type.String({ format: "date-time", description: "The tick of the schedule that the job was made for." })),
  approval: Nullable(Decision),
  last_error: Nullable(LastError),
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
export const Job = Type.Object(jobFields, { examples: [jobExample] });

/** A job with one entry per attempt: GET of one job. */
export const JobWithLog = Type.Object(
  { ...jobFields, attempts_log: Type.Array(AttemptEntry) },
  {
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

const duplicate = Type.Literal(true, {
  description: "Its idempotency key was known: this is the job that came with it first, as it is now.",
});
const duplicateExample = { ...jobExample, idempotencyKey: "order-1815-receipt", duplicate: true };

/** What an enqueue answers to a job that came before. Source: contract §1, Idempotency. */
export const DuplicateJob = Type.Object({ ...jobFields, duplicate }, { examples: [duplicateExample] });

/** The jobs of a batch, in the order sent. */
export const EnqueuedBatch = Type.Object(
  { jobs: Type.Array(Type.Object({ ...jobFields, duplicate: Type.Optional(duplicate) })) },
  { examples: [{ jobs: [jobExample] }] },
);

/** The jobs of a batch that all came before, in the order sent. */
export const DuplicateBatch = Type.Object({ jobs: Type.Array(DuplicateJob) }, { examples: [{ jobs: [duplicateExample] }] });

export const JobPath = Type.Object({
  name: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$", description: "Name of the job's queue.", examples: ["emails"] }),
  id: JobId,
});

export const ListJobs = Type.Object(
  {
    ...PageQuery,
    state: Type.Optional(
      Type.String({ format: "job-states", description: "One state, or several with commas.", examples: ["waiting,delayed"] }),
    ),
    tag: Type.Optional(Type.String({ format: "storable", description: "One tag, or several with commas.", examples: ["welcome"] })),
  },
  { additionalProperties: false },
);

/** Which jobs of the dead-letter queue: filters that are given together must all hold. */
export const DeadLetterFilter = Type.Object(
  {
    queue: Type.Optional(Type.String({ format: "storable", description: "Name of a queue.", examples: ["emails"] })),
    tag: Type.Optional(Type.String({ format: "storable", maxLength: LIMITS.tagLength, examples: ["welcome"] })),
    error: Type.Optional(Type.Enum([...ATTEMPT_ERRORS], { description: "Code of the last error." })),
  },
  { additionalProperties: false, examples: [{ queue: "emails", error: "TIMEOUT" }] },
);
export type DeadLetterFilter = Static<typeof DeadLetterFilter>;
export const Purged = Type.Object({ purged: Type.Integer() }, { examples: [{ purged: 17 }] });

export const ListDeadLetters = Type.Object(
  {
    ...PageQuery,
    queue: Type.Optional(Type.String({ format: "storable", description: "One queue, or several with commas.", examples: ["emails"] })),
    tag: Type.Optional(Type.String({ format: "storable", description: "One tag, or several with commas.", examples: ["welcome"] })),
    error: Type.Optional(
      Type.String({ format: "attempt-errors", description: "Code of the last error: one, or several with commas.", examples: ["TIMEOUT"] }),
    ),
  },
  { additionalProperties: false },
);

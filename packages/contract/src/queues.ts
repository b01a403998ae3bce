import { type Static, Type } from "typebox";
import { JOB_STATES, LastError } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { Nullable, PageQuery, Timestamp } from "./paging.ts";

/** A queue of type `approval` holds its jobs until they are decided. Source: specification; contract §5. */
export const QUEUE_TYPES = ["standard", "approval"] as const;
export type QueueType = (typeof QUEUE_TYPES)[number];

export const QueueName = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
  description: "Name of a queue, unique in the workspace.",
  examples: ["emails"],
});

export const Attempts = Type.Integer({ minimum: 1, maximum: 100, description: "Attempts per job." });

export const Backoff = Type.Object(
  {
    type: Type.Optional(Type.Literal("exponential")),
    delay: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400_000,
        description: "Wait before the second attempt, doubled for each one after. Milliseconds.",
      }),
    ),
  },
  { additionalProperties: false },
);

const CallbackUrl = Type.String({
  format: "callback-url",
  maxLength: LIMITS.callbackUrlLength,
  description:
    "Handler address: http or https, without user and password. Templates like `${{ secrets.NAME }}` may stand in its path and query.",
  examples: ["https://example.com/tidemill"],
});

const CallbackHeaders = Type.Record(Type.String(), Type.String({ format: "header-value", maxLength: LIMITS.callbackHeaderLength }), {
  propertyNames: { format: "callback-header-name", maxLength: 256 },
  maxProperties: LIMITS.callbackHeaders,
  description: "Headers sent with each callback. Templates like `${{ secrets.NAME }}` may stand in their values.",
  examples: [{ "x-team": "billing" }],
});

const JobOptions = Type.Object(
  { attempts: Type.Optional(Attempts), backoff: Type.Optional(Backoff) },
  { additionalProperties: false, description: "Retry policy of the queue's jobs." },
);

const RateLimit = Type.Object(
  {
    max: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    per_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  },
  { additionalProperties: false, description: "Jobs start at most `max` times in any `per_seconds`, each attempt being a start." },
);

/** What becomes of a job that nobody decides. */
const ON_TIMEOUT = ["reject", "approve"] as const;

const Approval = Type.Object(
  {
    timeout: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 1,
          maximum: LIMITS.delaySeconds,
          description: "How long a job enqueued from now on waits to be decided before it decides itself. Seconds; null: for ever.",
        }),
      ),
    ),
    on_timeout: Type.Optional(Type.Enum([...ON_TIMEOUT], { default: "reject" })),
  },
  { additionalProperties: false, description: "For queues of type `approval` alone." },
);

const settings = {
  callback_url: Type.Optional(Nullable(CallbackUrl)),
  callback_headers: Type.Optional(CallbackHeaders),
  callback_timeout: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 900, default: 30, description: "How long one attempt may take. Seconds." }),
  ),
  defaultJobOptions: Type.Optional(JobOptions),
  concurrency: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: 100_000, description: "Jobs in flight at once, over all nodes; null: any number." })),
  ),
  concurrency_per_key: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      default: 1,
      description: "Jobs of one `concurrencyKey` in flight at once, over all nodes.",
    }),
  ),
  rate_limit: Type.Optional(Nullable(RateLimit)),
  paused: Type.Optional(Type.Boolean({ description: "A paused queue takes jobs but starts none." })),
  approval: Type.Optional(Nullable(Approval)),
};

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    type: Type.Optional(
      Type.Enum([...QUEUE_TYPES], { default: "standard", description: "An `approval` queue holds each job until somebody approves it." }),
    ),
    ...settings,
  },
  {
    additionalProperties: false,
    examples: [
      {
        name: "emails",
        callback_url: "https://example.com/tidemill",
        defaultJobOptions: { attempts: 5, backoff: { type: "exponential", delay: 2000 } },
      },
    ],
  },
);
export type CreateQueue = Static<typeof CreateQueue>;

export const PatchQueue = Type.Object(
  {
    ...settings,
    rotate_callback_secret: Type.Optional(Type.Boolean({ description: "Make a new callback secret; it is shown in this reply alone." })),
  },
  { additionalProperties: false, examples: [{ callback_url: "https://example.com/tidemill", rotate_callback_secret: true }] },
);
export type PatchQueue = Static<typeof PatchQueue>;

const queueFields = {
  name: QueueName,
  type: Type.Enum([...QUEUE_TYPES]),
  callback_url: Nullable(Type.String()),
  callback_headers: Type.Record(Type.String(), Type.String()),
  callback_timeout: Type.Integer({ description: "Seconds." }),
  has_callback_secret: Type.Boolean(),
  defaultJobOptions: Type.Object({
    attempts: Type.Integer(),
    backoff: Type.Object({ type: Type.Literal("exponential"), delay: Type.Integer({ description: "Milliseconds." }) }),
  }),
  callbacks_stopped: Nullable(
    Type.Object(
      { code: Type.Literal("PLAN_REQUIRED"), message: Type.String() },
      {
        description: "Why no callbacks go out though there is a callback_url; null while they do. Jobs wait until the plan has them again.",
      },
    ),
  ),
  concurrency: Nullable(Type.Integer()),
  concurrency_per_key: Type.Integer(),
  rate_limit: Nullable(Type.Object({ max: Type.Integer(), per_seconds: Type.Integer() })),
  paused: Type.Boolean(),
  approval: Nullable(Type.Object({ timeout: Nullable(Type.Integer({ description: "Seconds." })), on_timeout: Type.Enum([...ON_TIMEOUT]) })),
  created_at: Timestamp,
  updated_at: Timestamp,
};

const queueExample = {
  name: "emails",
  type: "standard",
  callback_url: "https://example.com/tidemill",
  callback_headers: { "x-team": "billing" },
  callback_timeout: 30,
  has_callback_secret: true,
  defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 1000 } },
  callbacks_stopped: null,
  concurrency: 20,
  concurrency_per_key: 1,
  rate_limit: { max: 100, per_seconds: 60 },
  paused: false,
  approval: null,
  created_at: "2026-11-21T09:30:00.000Z",
  updated_at: "2026-11-21T09:30:00.000Z",
};

/** A queue's configuration. Source: specification, Queue; contract §3. */
export const Queue = Type.Object(queueFields, { examples: [queueExample] });
export type Queue = Static<typeof Queue>;

const CallbackSecret = Type.String({
  pattern: "^cbs_[A-Za-z0-9_-]{43}$",
  description: "The key of the callbacks' HMAC, shown in this reply alone.",
});

/** A queue as the reply that makes or rotates its callback secret shows it. */
export const QueueWithSecret = Type.Object(
  { ...queueFields, callback_secret: Type.Optional(CallbackSecret) },
  { examples: [{ ...queueExample, callback_secret: "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs" }] },
);

export const QueueMetrics = Type.Object({
  ...Object.fromEntries(JOB_STATES.map((state) => [state, Type.Integer()])),
  oldest_waiting_seconds: Nullable(
    Type.Number({ description: "How long the oldest waiting job has been due. Seconds; null when none waits." }),
  ),
  completed_last_minute: Type.Integer(),
  failed_last_minute: Type.Integer(),
  latency_ms: Type.Object(
    { p50: Nullable(Type.Number()), p99: Nullable(Type.Number()) },
    { description: "From due to finished, over the newest 1,000 jobs completed in the last minute. Milliseconds." },
  ),
});

/** Whether callbacks go out, or the endpoint is taken for dead. Source: contract §4, Callback. */
export const QueueCircuit = Type.Object(
  {
    state: Type.Enum(["closed", "open"], {
      description:
        "Open after 20 callbacks in a row that got no answer or a 5xx: jobs wait, without using attempts, but for one probe at a time.",
    }),
    host: Nullable(Type.String({ description: "The callback host that is taken for dead." })),
    opened_at: Nullable(Timestamp),
    next_probe_at: Nullable(Timestamp),
    last_error: Nullable(LastError),
  },
  { description: "The circuit of the queue's callback host; all but `state` are null while it is closed." },
);

/** A queue with its circuit and metrics: GET of one queue. */
export const QueueWithMetrics = Type.Object(
  { ...queueFields, circuit: QueueCircuit, metrics: QueueMetrics },
  {
    examples: [
      {
        ...queueExample,
        circuit: {
          state: "open",
          host: "example.com",
          opened_at: "2026-11-21T09:30:00.000Z",
          next_probe_at: "2026-11-21T09:30:07.412Z",
          last_error: { code: "TIMEOUT", message: "The handler did not answer in time.", status: null },
        },
        metrics: {
          waiting: 12,
          delayed: 3,
          pending_approval: 0,
          active: 4,
          completed: 9120,
          failed: 2,
          cancelled: 1,
          rejected: 0,
          oldest_waiting_seconds: 0.4,
          completed_last_minute: 312,
          failed_last_minute: 0,
          latency_ms: { p50: 18, p99: 140 },
        },
      },
    ],
  },
);

export const ListQueues = Type.Object(
  { ...PageQuery, cursor: Type.Optional(Type.String({ ...PageQuery.cursor, examples: ["2s"] })) },
  { additionalProperties: false },
);
export const QueuePath = Type.Object({ name: QueueName });
export const RetryAll = Type.Object(
  {
    tag: Type.Optional(Type.String({ format: "storable", maxLength: LIMITS.tagLength, description: "Only jobs with this tag." })),
    failed_before: Type.Optional(Type.String({ format: "date-time", description: "Only jobs that failed before this moment." })),
    failed_after: Type.Optional(Type.String({ format: "date-time", description: "Only jobs that failed at this moment or later." })),
  },
  { additionalProperties: false, examples: [{ tag: "welcome" }] },
);
export type RetryAll = Static<typeof RetryAll>;
export const Retried = Type.Object({ retried: Type.Integer() }, { examples: [{ retried: 17 }] });

import { type Static, Type } from "typebox";
import { CallbackHeaders, CallbackUrl } from "./callback-settings.ts";
import { each } from "./each.ts";
import { Attempts, Backoff, JOB_STATES, LastError } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { QueueName } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

/** A queue of type `approval` holds its jobs until they are decided. Source: specification; contract §5. */
export const QUEUE_TYPES = ["standard", "approval"] as const;
export type QueueType = (typeof QUEUE_TYPES)[number];
const QueueType = Type.Enum([...QUEUE_TYPES], {
  title: "QueueType",
  description: "An `approval` queue holds each job until it is approved. The type cannot be changed later. Default: `standard`.",
});

const JobOptions = Type.Object(
  { attempts: Type.Optional(Attempts), backoff: Type.Optional(Backoff) },
  {
    title: "JobOptions",
    additionalProperties: false,
    description: "How the queue's jobs are retried unless a job says otherwise.",
    examples: [{ attempts: 5, backoff: { delay: 2000 } }],
  },
);

const rateLimitFields = {
  max: Type.Integer({ minimum: 1, maximum: 1_000_000, description: "Attempts that may start in any period of `per_seconds`." }),
  per_seconds: Type.Integer({ minimum: 1, maximum: 86_400, description: "The length of the sliding window. Seconds." }),
};

const RateLimit = Type.Object(rateLimitFields, {
  title: "RateLimit",
  additionalProperties: false,
  description: "At most `max` attempts of the queue's jobs start in any period of `per_seconds`, across all nodes.",
  examples: [{ max: 100, per_seconds: 60 }],
});

const PatchRateLimit = Type.Partial(Type.Object(rateLimitFields), {
  title: "PatchRateLimit",
  additionalProperties: false,
  minProperties: 1,
  description: "Changes to the rate limit. Fields that are left out stay as they are; a queue without a limit needs both.",
  examples: [{ max: 100, per_seconds: 60 }],
});

/** What the timeout decides. */
const ON_TIMEOUT = ["reject", "approve"] as const;
const OnTimeout = Type.Enum([...ON_TIMEOUT], {
  title: "OnTimeout",
  description: "The decision when no caller decides in time. Default: `reject`.",
});

const Approval = Type.Object(
  {
    timeout: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 1,
          maximum: LIMITS.delaySeconds,
          description: "Seconds.",
        }),
        {
          description:
            "How long a job waits for a decision before `on_timeout` decides it. Seconds; null: no time limit. It applies to jobs enqueued from now on.",
        },
      ),
    ),
    on_timeout: Type.Optional(OnTimeout),
  },
  {
    title: "ApprovalSettings",
    additionalProperties: false,
    description: "What happens to jobs that no caller decides on. In a change, fields that are left out stay as they are.",
    examples: [{ timeout: 86400, on_timeout: "reject" }],
  },
);

const settings = {
  callback_url: Type.Optional(
    Nullable(CallbackUrl, { description: "Where nodes deliver jobs. Null: nodes deliver none, and workers take them." }),
  ),
  callback_headers: Type.Optional(CallbackHeaders),
  callback_timeout: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 900, description: "How long one attempt may take. Seconds. Default for a new queue: 30." }),
  ),
  defaultJobOptions: Type.Optional(JobOptions),
  concurrency: Type.Optional(
    Nullable(Type.Integer({ minimum: 1, maximum: LIMITS.concurrency }), {
      description: "How many jobs of the queue may be in flight at once, across all nodes; null: any number.",
    }),
  ),
  concurrency_per_key: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: "How many jobs with the same `concurrencyKey` may be in flight at once, across all nodes. Default for a new queue: 1.",
    }),
  ),
  rate_limit: Type.Optional(Nullable(RateLimit, { description: "How often jobs may start; null: no limit." })),
  paused: Type.Optional(Type.Boolean({ description: "A paused queue accepts jobs but starts none." })),
  approval: Type.Optional(
    Nullable(Approval, {
      description:
        "Only for queues of type `approval`: after `timeout` seconds, `on_timeout` decides. Null: jobs wait until they are decided.",
    }),
  ),
};

export const CreateQueue = Type.Object(
  {
    name: QueueName,
    type: Type.Optional(QueueType),
    ...settings,
  },
  {
    title: "CreateQueue",
    description: "A queue to create. Only the name is required.",
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
    rate_limit: Type.Optional(Nullable(PatchRateLimit, { description: "How often jobs may start; null: no limit." })),
    rotate_callback_secret: Type.Optional(
      Type.Boolean({ description: "Generates a new callback secret, which only this response contains." }),
    ),
  },
  {
    title: "PatchQueue",
    description: "Changes to a queue. Fields that are left out stay as they are.",
    additionalProperties: false,
    examples: [{ callback_url: "https://example.com/tidemill", rotate_callback_secret: true }],
  },
);
export type PatchQueue = Static<typeof PatchQueue>;

/** Replaces the value of a header for keys that may not see it. */
export const HIDDEN = "[hidden]";

const queueFields = {
  name: QueueName,
  type: QueueType,
  callback_url: Nullable(Type.String(), { description: "Where nodes deliver jobs. Null: nodes deliver none, and workers take them." }),
  callback_headers: Type.Record(Type.String(), Type.String(), {
    description: `Headers sent with each callback, with their templates. Keys with the role \`read\` see \`${HIDDEN}\` instead of each value.`,
  }),
  callback_timeout: Type.Integer({ description: "How long one attempt may take. Seconds." }),
  has_callback_secret: Type.Boolean({ description: "Whether the queue has a secret to sign callbacks with." }),
  defaultJobOptions: Type.Object(
    {
      attempts: Type.Integer({ description: "How often a job is tried before it fails." }),
      backoff: Type.Object(
        {
          type: Type.Literal("exponential", { description: "The only type there is." }),
          delay: Type.Integer({
            description:
              "The wait before the second attempt. It doubles with each further attempt. Milliseconds; values below 10 count as 10.",
          }),
        },
        { title: "QueueBackoff", description: "How long a job waits between its attempts." },
      ),
    },
    { title: "QueueJobOptions", description: "How the queue's jobs are retried unless a job says otherwise." },
  ),
  callbacks_stopped: Nullable(
    Type.Object(
      {
        code: Type.Literal("PLAN_REQUIRED", { description: "The plan does not have callbacks." }),
        message: Type.String({ description: "The reason, for people." }),
      },
      { title: "CallbacksStopped", description: "Why no callbacks are sent." },
    ),
    {
      description:
        "Why no callbacks are sent although there is a `callback_url`; null while they are sent. Jobs wait until the plan has callbacks again.",
    },
  ),
  concurrency: Nullable(Type.Integer(), {
    description: "How many jobs of the queue may be in flight at once, across all nodes; null: any number.",
  }),
  concurrency_per_key: Type.Integer({
    description: "How many jobs with the same `concurrencyKey` may be in flight at once, across all nodes.",
  }),
  rate_limit: Nullable(
    Type.Object(
      {
        max: Type.Integer({ description: "Attempts that may start in any period of `per_seconds`." }),
        per_seconds: Type.Integer({ description: "The length of the sliding window. Seconds." }),
      },
      { title: "QueueRateLimit", description: "How often jobs may start." },
    ),
    { description: "How often jobs may start; null: no limit." },
  ),
  paused: Type.Boolean({ description: "A paused queue accepts jobs but starts none." }),
  approval: Nullable(
    Type.Object(
      {
        timeout: Nullable(Type.Integer(), {
          description: "How long a job waits for a decision before `on_timeout` decides it. Seconds; null: no time limit.",
        }),
        on_timeout: OnTimeout,
      },
      { title: "QueueApproval", description: "What happens to jobs that no caller decides on." },
    ),
    { description: "What happens to jobs that no caller decides on; null for a `standard` queue." },
  ),
  created_at: Moment("When the queue was created."),
  updated_at: Moment("When its settings last changed."),
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
export const Queue = Type.Object(queueFields, {
  title: "Queue",
  description: "A queue's settings.",
  examples: [queueExample],
});
export type Queue = Static<typeof Queue>;

const CallbackSecret = Type.String({
  pattern: "^cbs_[A-Za-z0-9_-]{43}$",
  description: "The secret that callbacks are signed with. Only the response to the request that generated it contains it.",
});

/** A queue in the response to a request that may generate a callback secret. */
export const QueueWithSecret = Type.Object(
  { ...queueFields, callback_secret: Type.Optional(CallbackSecret) },
  {
    title: "QueueWithSecret",
    description: "A queue's settings, with its callback secret when this request generated one.",
    examples: [{ ...queueExample, callback_secret: "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs" }],
  },
);
export type QueueWithSecret = Static<typeof QueueWithSecret>;

export const QueueMetrics = Type.Object(
  {
    ...each(JOB_STATES, (state) => Type.Integer({ description: `Jobs in state ${state}.` })),
    oldest_waiting_seconds: Nullable(Type.Number(), {
      description: "How long the oldest waiting job has been due. Seconds; null when none waits.",
    }),
    completed_last_minute: Type.Integer({ description: "Jobs that completed in the last 60 seconds." }),
    failed_last_minute: Type.Integer({ description: "Jobs that failed in the last 60 seconds." }),
    latency_ms: Type.Object(
      {
        p50: Nullable(Type.Number(), { description: "The median. Milliseconds; null when no such job completed." }),
        p99: Nullable(Type.Number(), { description: "The 99th percentile. Milliseconds; null when no such job completed." }),
      },
      {
        title: "Latency",
        description:
          "The time from due to finished. It covers jobs that completed in the last minute, among the 1,000 finished jobs that were enqueued last. `GET /v1/metrics` covers all jobs. Milliseconds.",
      },
    ),
  },
  { title: "QueueMetrics", description: "How many jobs the queue has in each state, and how fast they finish." },
);

/** The circuit breaker of a queue. Source: contract §4, Callback. */
export const QueueCircuit = Type.Object(
  {
    state: Type.Enum(["closed", "open"], {
      title: "CircuitState",
      description:
        "The circuit opens after 20 callbacks in a row that got no response or a 5xx. While it is open, jobs wait without using attempts, except for one probe at a time.",
    }),
    host: Nullable(Type.String(), { description: "The callback host that failed; null while closed." }),
    opened_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the circuit opened; null while closed." }),
    next_probe_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the next job may be sent as a probe; null while closed." }),
    last_error: Nullable(LastError, { description: "Why the last callback or probe failed; null while closed." }),
  },
  {
    title: "QueueCircuit",
    description: "The circuit breaker of the queue. All fields but `state` are null while it is closed.",
  },
);

/** A queue with its circuit and metrics: GET of one queue. */
export const QueueWithMetrics = Type.Object(
  { ...queueFields, circuit: QueueCircuit, metrics: QueueMetrics },
  {
    title: "QueueWithMetrics",
    description: "A queue's settings, circuit and metrics.",
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
export type QueueWithMetrics = Static<typeof QueueWithMetrics>;

/** A queue in a list: with its circuit and metrics if the request includes them. */
export const ListedQueue = Type.Object(
  { ...queueFields, circuit: Type.Optional(QueueCircuit), metrics: Type.Optional(QueueMetrics) },
  {
    title: "Queue",
    description: "A queue's settings, with its circuit and metrics if the request includes them.",
    examples: [queueExample],
  },
);
export type ListedQueue = Static<typeof ListedQueue>;

export const ListQueues = Type.Object(
  {
    ...PageQuery,
    cursor: Cursor("QueueCursor", "Vt3oKq0cR1mX7yBz4nE2Sw"),
    include: Type.Optional(
      Type.Enum(["metrics"], {
        title: "IncludeInQueues",
        description: "`metrics`: each queue comes with its circuit and metrics. Their latencies are accurate to an eighth.",
        examples: ["metrics"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListQueues = Static<typeof ListQueues>;
export const QueuePath = Type.Object({ name: QueueName });
export const RetryAll = Type.Object(
  {
    tag: Type.Optional(Type.String({ format: "storable", maxLength: LIMITS.tagLength, description: "Only jobs with this tag." })),
    failed_before: Type.Optional(Moment("Only jobs that failed before this moment.")),
    failed_after: Type.Optional(Moment("Only jobs that failed at this moment or later.")),
  },
  {
    title: "RetryAll",
    description: "Which failed jobs to retry: those that match every given filter. Without a filter, every failed job of the queue.",
    additionalProperties: false,
    examples: [{ tag: "welcome" }],
  },
);
export type RetryAll = Static<typeof RetryAll>;
export const Retried = Type.Object(
  { retried: Type.Integer({ description: "How many jobs were put back to wait." }) },
  { title: "Retried", description: "The outcome of retrying many jobs.", examples: [{ retried: 17 }] },
);
export type Retried = Static<typeof Retried>;

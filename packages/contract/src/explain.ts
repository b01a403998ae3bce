import { type Static, type TProperties, Type } from "typebox";
import { JOB_STATES, JobId, LastError } from "./jobs.ts";
import { Nullable, Timestamp } from "./paging.ts";
import { PLAN_NAMES } from "./plans.ts";

/** What a job has to pass before it starts, in the order in which it is told. Source: contract §4, explain. */
export const GATES = [
  "state",
  "due",
  "approval",
  "queue_paused",
  "plan",
  "handler",
  "circuit",
  "key_concurrency",
  "queue_concurrency",
  "rate_limit",
  "quota",
] as const;
export type GateName = (typeof GATES)[number];

const Count = Type.Integer({ minimum: 0 });
const MORE = "Whether there are more: they are counted to 10,000, or as far as the queue's limits reach.";

const Gate = <Name extends GateName, Figures extends TProperties>(gate: Name, figures: Figures) =>
  Type.Object({
    gate: Type.Literal(gate),
    holds: Type.Boolean({ description: "Whether it keeps the job from starting now, or would if the job came to it now." }),
    message: Type.String(),
    figures: Type.Object(figures),
  });

export const ExplainedGate = Type.Union([
  Gate("state", {
    state: Type.Enum([...JOB_STATES]),
    attempt: Count,
    attempts: Count,
    started_at: Nullable(Timestamp),
    finished_at: Nullable(Timestamp),
  }),
  Gate("due", { run_at: Timestamp }),
  Gate("approval", {
    decision: Nullable(Type.Enum(["approved", "rejected"])),
    decide_at: Nullable(Type.String({ format: "date-time", description: "When it is decided by itself." })),
    on_timeout: Nullable(Type.Enum(["reject", "approve"], { description: "How, then; null for queues without approvals." })),
  }),
  Gate("queue_paused", { paused: Type.Boolean() }),
  Gate("plan", { plan: Type.Enum([...PLAN_NAMES]), callbacks: Type.Boolean({ description: "Whether the plan has callbacks." }) }),
  Gate("handler", { has_callback_url: Type.Boolean() }),
  Gate("circuit", {
    state: Type.Enum(["closed", "open"]),
    opened_at: Nullable(Timestamp),
    next_probe_at: Nullable(Timestamp),
    may_probe: Type.Boolean({ description: "Whether a probe is due, and this job is the one to go." }),
    last_error: Nullable(LastError),
  }),
  Gate("key_concurrency", {
    key: Nullable(Type.String()),
    limit: Count,
    active: Nullable(Count),
    ahead: Nullable(Type.Integer({ minimum: 0, description: "Jobs of the key that wait before it." })),
    ahead_is_more: Type.Boolean({ description: "Whether there are more: they are counted to 10,000." }),
  }),
  Gate("queue_concurrency", {
    limit: Nullable(Count),
    in_flight: Nullable(Count),
    free: Nullable(Count),
    ahead: Nullable(Type.Integer({ minimum: 0, description: "Jobs of the queue that may start and go before it." })),
  }),
  Gate("rate_limit", {
    max: Nullable(Count),
    per_seconds: Nullable(Count),
    started: Nullable(Type.Integer({ minimum: 0, description: "Jobs that started in the last `per_seconds`." })),
    free: Nullable(Count),
    opens_at: Nullable(Type.String({ format: "date-time", description: "When the oldest of those no longer counts." })),
  }),
  Gate("quota", {
    used: Count,
    limit: Nullable(Count),
    resets_at: Timestamp,
  }),
]);
export type ExplainedGate = Static<typeof ExplainedGate>;

const at = "2026-11-21T09:30:00.000Z";
const held = "the queue has started 100 of 100 allowed jobs in the last 60 s and may start the next in 7 s";

const exampleGates: ExplainedGate[] = [
  {
    gate: "state",
    holds: false,
    message: "It has not finished.",
    figures: { state: "waiting", attempt: 0, attempts: 3, started_at: null, finished_at: null },
  },
  { gate: "due", holds: false, message: `It was due at ${at}.`, figures: { run_at: at } },
  {
    gate: "approval",
    holds: false,
    message: "The queue needs no approval.",
    figures: { decision: null, decide_at: null, on_timeout: null },
  },
  { gate: "queue_paused", holds: false, message: "The queue is not paused.", figures: { paused: false } },
  { gate: "plan", holds: false, message: "The plan pro includes callbacks.", figures: { plan: "pro", callbacks: true } },
  { gate: "handler", holds: false, message: "The queue has a callback_url.", figures: { has_callback_url: true } },
  {
    gate: "circuit",
    holds: false,
    message: "The circuit is closed.",
    figures: { state: "closed", opened_at: null, next_probe_at: null, may_probe: false, last_error: null },
  },
  {
    gate: "key_concurrency",
    holds: false,
    message: "It has no concurrencyKey.",
    figures: { key: null, limit: 1, active: null, ahead: null, ahead_is_more: false },
  },
  {
    gate: "queue_concurrency",
    holds: false,
    message: "The queue has 3 of 20 allowed jobs in flight.",
    figures: { limit: 20, in_flight: 3, free: 17, ahead: 4 },
  },
  {
    gate: "rate_limit",
    holds: true,
    message: `T${held.slice(1)}. 4 jobs go before it.`,
    figures: { max: 100, per_seconds: 60, started: 100, free: 0, opens_at: "2026-11-21T09:30:07.000Z" },
  },
  {
    gate: "quota",
    holds: false,
    message: "1200 of the month's 100000 executions are used. The quota does not hold jobs that were accepted.",
    figures: { used: 1200, limit: 100_000, resets_at: "2026-12-01T00:00:00.000Z" },
  },
];

/** Why a job is not running. Source: contract §4, explain. */
export const Explanation = Type.Object(
  {
    id: JobId,
    queue: Type.String(),
    state: Type.Enum([...JOB_STATES]),
    held_by: Type.Array(Type.Enum([...GATES]), { description: "The gates that hold it." }),
    summary: Type.String({ description: "Why it is not running, in a sentence or two; or how it stands once it has started." }),
    ahead: Nullable(
      Type.Integer({ minimum: 0, description: "Jobs of the queue that may start and go before it; null once it has started or finished." }),
    ),
    ahead_is_more: Type.Boolean({ description: MORE }),
    gates: Type.Array(ExplainedGate, { description: "All gates, each once, always in this order." }),
    estimated_start: Nullable(
      Type.String({ format: "date-time", description: "When it will start if all goes on as it does now; null where nobody can know." }),
    ),
  },
  {
    examples: [
      {
        id: "job_01kajv3k4ve6nsd9z5kgtzx0rw",
        queue: "emails",
        state: "waiting",
        held_by: ["rate_limit"],
        summary: `Not running: ${held}. 4 jobs go before it, and it should start in 9 s.`,
        ahead: 4,
        ahead_is_more: false,
        gates: exampleGates,
        estimated_start: "2026-11-21T09:30:09.000Z",
      },
    ],
  },
);
export type Explanation = Static<typeof Explanation>;

import { type Static, Type } from "typebox";
import { Count, Gate, JOB_SHARES } from "./gates.ts";
import { JobId, JobState, LastError } from "./jobs.ts";
import { QueueName } from "./names.ts";
import { Moment, Nullable } from "./paging.ts";
import { PlanName } from "./plans.ts";

/** What a job has to pass before it starts, in the order of the response. Source: contract §4, explain. */
export const GATES = [
  "state",
  "nodes",
  "due",
  "approval",
  "queue_paused",
  "plan",
  "handler",
  "circuit",
  "key_concurrency",
  "queue_concurrency",
  "rate_limit",
  "workspace_share",
  "quota",
] as const;
export type JobShare = (typeof JOB_SHARES)[number];
export type GateName = (typeof GATES)[number];
const GateName = Type.Enum([...GATES], { title: "GateName", description: "What a job has to pass before it starts." });

export const ExplainedGate = Type.Union(
  [
    Gate("StateGate", "state", "Whether the job is in a state in which it can start.", {
      state: JobState,
      attempt: Count("Attempts started so far."),
      attempts: Count("Attempts allowed."),
      spared: Count(
        "How many of both do not count against the limit: those before a manual retry, lost with a node, or made while the circuit opened.",
      ),
      started_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the newest attempt started." }),
      finished_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the job finished." }),
    }),
    Gate("NodesGate", "nodes", "Whether any node is alive.", {
      alive: Count("Nodes with a valid lease."),
      last_seen_at: Nullable(Moment("RFC 3339 in UTC."), {
        description: "When a node last renewed its lease; null if none did within the last hour.",
      }),
    }),
    Gate("DueGate", "due", "Whether the job is due.", { run_at: Moment("When the job is, or was, due.") }),
    Gate("ApprovalGate", "approval", "Whether the job waits for a decision.", {
      decision: Nullable(Type.Enum(["approved", "rejected"]), { description: "What was decided; null before that." }),
      decide_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the timeout decides; null: never." }),
      on_timeout: Nullable(Type.Enum(["reject", "approve"]), {
        description: "What the timeout decides; null for queues without approvals.",
      }),
    }),
    Gate("PausedGate", "queue_paused", "Whether the queue is paused.", {
      paused: Type.Boolean({ description: "Whether the queue is paused." }),
      paused_at: Nullable(Moment("RFC 3339 in UTC."), {
        description:
          "When it was paused; null while it is not, or when the audit log does not say: it was created so, or that was long ago.",
      }),
      paused_by: Nullable(Type.String(), { description: "Who paused it, as the audit log names them; null like `paused_at`." }),
    }),
    Gate("PlanGate", "plan", "Whether the workspace's plan allows the delivery.", {
      plan: PlanName,
      callbacks: Type.Boolean({ description: "Whether the plan has callbacks." }),
    }),
    Gate("HandlerGate", "handler", "Whether anything can run the job.", {
      has_callback_url: Type.Boolean({ description: "Whether the queue has a callback_url." }),
      worker_last_seen_at: Nullable(Moment("RFC 3339 in UTC."), {
        description:
          "When a worker that asks for the queue's jobs last called, accurate to half a minute. Extending leases counts. Null when none did lately, " +
          "or nodes deliver them.",
      }),
    }),
    Gate("CircuitGate", "circuit", "Whether the queue's circuit breaker is open.", {
      state: Type.Enum(["closed", "open"], { description: "While it is open, only one probe at a time is sent." }),
      opened_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the circuit opened; null while closed." }),
      next_probe_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the next job may be sent as a probe; null while closed." }),
      may_probe: Type.Boolean({ description: "Whether a probe is due and this job would be the probe." }),
      last_error: Nullable(LastError, { description: "Why the last callback or probe failed; null while closed." }),
    }),
    Gate("KeyConcurrencyGate", "key_concurrency", "Whether the limit for the job's concurrency key is reached.", {
      key: Nullable(Type.String(), { description: "The job's concurrency key; null when it has none." }),
      limit: Count("How many jobs of one key may be in flight at once."),
      active: Nullable(Count("Jobs."), { description: "Jobs of the key in flight; null without a key." }),
      oldest_job: Nullable(Type.String(), { description: "The job of the key that has been in flight longest; null when there is none." }),
      oldest_started_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When that job's attempt started." }),
      ahead: Nullable(Count("Jobs."), {
        description: "Jobs of the key that wait before this one; null without a key, or once it has started or finished.",
      }),
      ahead_is_more: Type.Boolean({ description: "Whether there are more jobs than `ahead` says: at most 10,000 are counted." }),
    }),
    Gate("QueueConcurrencyGate", "queue_concurrency", "Whether the queue's limit of jobs in flight is reached.", {
      limit: Nullable(Count("Jobs."), { description: "How many jobs of the queue may be in flight at once; null: any number." }),
      in_flight: Nullable(Count("Jobs."), { description: "Jobs of the queue in flight; null without a limit." }),
      free: Nullable(Count("Jobs."), { description: "How many more may start; null without a limit." }),
      oldest_job: Nullable(Type.String(), {
        description: "The job of the queue that has been in flight longest; null without a limit, or when there is none.",
      }),
      oldest_started_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When that job's attempt started." }),
      ahead: Nullable(Count("Jobs."), {
        description: "Jobs of the queue that may start before this one; null once it has started or finished.",
      }),
    }),
    Gate("RateLimitGate", "rate_limit", "Whether the queue's rate limit is reached.", {
      max: Nullable(Count("Attempts."), { description: "Attempts that may start in any period of `per_seconds`; null without a limit." }),
      per_seconds: Nullable(Count("Seconds."), { description: "The length of the sliding window. Seconds; null without a limit." }),
      started: Nullable(Count("Attempts."), { description: "Attempts that started in the last `per_seconds`; null without a limit." }),
      free: Nullable(Count("Attempts."), { description: "How many more may start now; null without a limit." }),
      opens_at: Nullable(Moment("RFC 3339 in UTC."), {
        description: "When the oldest counted attempt leaves the window; null when none is counted.",
      }),
    }),
    Gate("WorkspaceShareGate", "workspace_share", "Whether the workspace uses its whole share of the node that responds.", {
      used_up: Type.Array(Type.Enum([...JOB_SHARES]), {
        description: "The resources of which the workspace uses its whole share on that node. Another node may have room.",
      }),
    }),
    Gate("QuotaGate", "quota", "How many executions of the month are used. The quota never holds a job that was accepted.", {
      used: Count("Executions used in the month."),
      limit: Nullable(Count("Executions."), { description: "Executions that the workspace may use in the month; null: any number." }),
      resets_at: Moment("When the next month begins, in UTC."),
    }),
  ],
  { title: "ExplainedGate", description: "One gate of the job; `gate` says which." },
);
export type ExplainedGate = Static<typeof ExplainedGate>;

const at = "2026-11-21T09:30:00.000Z";
const held = "the queue has started 100 of 100 allowed attempts in the last 60 s and may start the next in 7 s";

const exampleGates: ExplainedGate[] = [
  {
    gate: "state",
    holds: false,
    message: "It has not finished.",
    figures: { state: "waiting", attempt: 0, attempts: 3, spared: 0, started_at: null, finished_at: null },
  },
  { gate: "nodes", holds: false, message: "2 nodes are alive.", figures: { alive: 2, last_seen_at: at } },
  { gate: "due", holds: false, message: `It was due at ${at}.`, figures: { run_at: at } },
  {
    gate: "approval",
    holds: false,
    message: "The queue needs no approval.",
    figures: { decision: null, decide_at: null, on_timeout: null },
  },
  { gate: "queue_paused", holds: false, message: "The queue is not paused.", figures: { paused: false, paused_at: null, paused_by: null } },
  { gate: "plan", holds: false, message: "The plan pro includes callbacks.", figures: { plan: "pro", callbacks: true } },
  {
    gate: "handler",
    holds: false,
    message: "The queue has a callback_url.",
    figures: { has_callback_url: true, worker_last_seen_at: null },
  },
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
    figures: { key: null, limit: 1, active: null, oldest_job: null, oldest_started_at: null, ahead: null, ahead_is_more: false },
  },
  {
    gate: "queue_concurrency",
    holds: false,
    message: "The queue has 3 of 20 allowed jobs in flight.",
    figures: { limit: 20, in_flight: 3, free: 17, oldest_job: "job_01kajv3k4ve6nsd9z5kgtzx0rv", oldest_started_at: at, ahead: 4 },
  },
  {
    gate: "rate_limit",
    holds: true,
    message: `T${held.slice(1)}. 4 jobs go before it.`,
    figures: { max: 100, per_seconds: 60, started: 100, free: 0, opens_at: "2026-11-21T09:30:07.000Z" },
  },
  {
    gate: "workspace_share",
    holds: false,
    message: "The workspace's share of this node has room.",
    figures: { used_up: [] },
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
    queue: QueueName,
    state: JobState,
    held_by: Type.Array(GateName, { description: "The gates that hold the job; empty when none does." }),
    summary: Type.String({
      description: "Why the job is not running, in a sentence or two; after it has started, how it is doing or how it ended.",
    }),
    ahead: Nullable(Count("Jobs."), {
      description: "Jobs of the queue that may start before this one; null once it has started or finished.",
    }),
    ahead_is_more: Type.Boolean({
      description: "Whether there are more jobs than `ahead` says: at most 10,000 are counted, or fewer when the queue has limits.",
    }),
    gates: Type.Array(ExplainedGate, { description: "All gates, each once, always in the same order." }),
    estimated_start: Nullable(Moment("RFC 3339 in UTC."), {
      description: "When the job should start if nothing changes; null when that cannot be known.",
    }),
  },
  {
    title: "Explanation",
    description: "Why a job is not running, and when it is expected to.",
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

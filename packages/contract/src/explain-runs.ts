import { type Static, Type } from "typebox";
import { Count, Gate, JOB_SHARES } from "./gates.ts";
import { LastError } from "./jobs.ts";
import { Moment, Nullable } from "./paging.ts";
import { PlanName } from "./plans.ts";
import { RunStatus } from "./runs.ts";
import { RUN_ID, RunId, WorkflowId } from "./workflow-ids.ts";

/** What a run has to pass before it is executed, in the order of the response. */
export const RUN_GATES = [
  "state",
  "nodes",
  "steps",
  "code",
  "due",
  "version",
  "plan",
  "handler",
  "circuit",
  "concurrency",
  "workspace_share",
  "quota",
] as const;
export type RunGateName = (typeof RUN_GATES)[number];
const RunGateName = Type.Enum([...RUN_GATES], { title: "RunGateName", description: "What a run has to pass before it is executed." });

export const ExplainedRunGate = Type.Union(
  [
    Gate("RunStateGate", "state", "Whether the run has not ended.", {
      status: RunStatus,
      attempt: Count("Number of the next or current attempt."),
      attempts: Count("Attempts allowed."),
      endedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When the run ended." }),
    }),
    Gate("RunNodesGate", "nodes", "Whether any node is alive.", {
      alive: Count("Nodes with a valid lease."),
      lastSeenAt: Nullable(Moment("RFC 3339 in UTC."), {
        description: "When a node last renewed its lease; null if none did within the last hour.",
      }),
    }),
    Gate("RunStepsGate", "steps", "Whether the run waits for steps, such as a sleep or a signal.", {
      waiting: Count("Steps that it waits for. `waitingFor` of the run lists them."),
      firstAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When the first of these ends by itself: a sleep, or a timeout." }),
    }),
    Gate("RunCodeGate", "code", "Whether the run waits for other code, because its journal does not fit.", {
      step: Nullable(Type.String(), { description: "The step of the journal that does not fit." }),
      codeVersion: Nullable(Type.String(), { description: "Version of the code that the journal does not fit." }),
      retryAt: Nullable(Moment("RFC 3339 in UTC."), {
        description: "When the run is tried again; null: when a worker of another version polls, or it waits for no code.",
      }),
    }),
    Gate("RunDueGate", "due", "Whether the run is due. It is not while its `delay` or the time before its next attempt lasts.", {
      dueAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When it is, or was, due; null while it waits for steps or code." }),
    }),
    Gate(
      "RunVersionGate",
      "version",
      "Whether the run is kept for workers of one version: that of the code that started it, the newest if no worker of that one polls any " +
        "more, or another one if its journal did not fit.",
      {
        version: Nullable(Type.String(), { description: "That version; null: any worker may have the run." }),
      },
    ),
    Gate("RunPlanGate", "plan", "Whether the workspace's plan allows executions at an endpoint.", {
      plan: PlanName,
      callbacks: Type.Boolean({ description: "Whether the plan has callbacks." }),
    }),
    Gate("RunHandlerGate", "handler", "Whether anything can execute the run.", {
      hasEndpointUrl: Type.Boolean({ description: "Whether the workflow has an endpoint_url." }),
      workerLastSeenAt: Nullable(Moment("RFC 3339 in UTC."), {
        description:
          "When a worker that asks for the workflow's runs last called, accurate to half a minute. Extending leases counts. Null when none did " +
          "lately, or nodes send them.",
      }),
    }),
    Gate("RunCircuitGate", "circuit", "Whether the circuit breaker of the workflow's endpoint is open.", {
      state: Type.Enum(["closed", "open"], { description: "While it is open, only one probe at a time is sent." }),
      openedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When the circuit opened; null while closed." }),
      nextProbeAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When an execution may be sent as a probe; null while closed." }),
      mayProbe: Type.Boolean({ description: "Whether a probe is due and this run would be the probe." }),
      lastError: Nullable(LastError, { description: "Why the last execution or probe failed; null while closed." }),
    }),
    Gate("RunConcurrencyGate", "concurrency", "Whether the workflow's `concurrency` is reached.", {
      limit: Nullable(Count("Executions."), { description: "How many executions of the workflow may be in flight; null: any number." }),
      inFlight: Nullable(Count("Executions."), { description: "Executions in flight, of hooks and undos too; null without a limit." }),
      free: Nullable(Count("Executions."), { description: "How many more may start; null without a limit." }),
      oldestRunId: Nullable(Type.String(), {
        description: "The run that has been executed or undone longest; null without a limit, or when there is none.",
      }),
      oldestStartedAt: Nullable(Moment("RFC 3339 in UTC."), { description: "When that execution started." }),
      ahead: Nullable(Count("Executions."), { description: "Executions that may start before this one; null once it has started." }),
    }),
    Gate("RunWorkspaceShareGate", "workspace_share", "Whether the workspace uses its whole share of the node that responds.", {
      usedUp: Type.Array(Type.Enum([...JOB_SHARES]), {
        description: "The resources of which the workspace uses its whole share on that node. Another node may have room.",
      }),
    }),
    Gate("RunQuotaGate", "quota", "How many executions of the month are used. The quota never holds a run that was accepted.", {
      used: Count("Executions used in the month."),
      limit: Nullable(Count("Executions."), { description: "Executions that the workspace may use in the month; null: any number." }),
      resetsAt: Moment("When the next month begins, in UTC."),
    }),
  ],
  { title: "ExplainedRunGate", description: "One gate of the run; `gate` says which." },
);
export type ExplainedRunGate = Static<typeof ExplainedRunGate>;

const at = "2026-11-21T09:30:00.000Z";
const held = "the workflow has 20 of 20 allowed executions in flight";

const exampleGates: ExplainedRunGate[] = [
  {
    gate: "state",
    holds: false,
    message: "It has not ended.",
    figures: { status: "pending", attempt: 1, attempts: 3, endedAt: null },
  },
  { gate: "nodes", holds: false, message: "2 nodes are alive.", figures: { alive: 2, lastSeenAt: at } },
  { gate: "steps", holds: false, message: "It waits for no step.", figures: { waiting: 0, firstAt: null } },
  { gate: "code", holds: false, message: "It waits for no other code.", figures: { step: null, codeVersion: null, retryAt: null } },
  { gate: "due", holds: false, message: `It was due at ${at}.`, figures: { dueAt: at } },
  { gate: "version", holds: false, message: "Workers of any version may have it.", figures: { version: null } },
  { gate: "plan", holds: false, message: "The plan pro includes callbacks.", figures: { plan: "pro", callbacks: true } },
  {
    gate: "handler",
    holds: false,
    message: "Workers ask for the workflow's runs.",
    figures: { hasEndpointUrl: false, workerLastSeenAt: at },
  },
  {
    gate: "circuit",
    holds: false,
    message: "The circuit is closed.",
    figures: { state: "closed", openedAt: null, nextProbeAt: null, mayProbe: false, lastError: null },
  },
  {
    gate: "concurrency",
    holds: true,
    message: `T${held.slice(1)}. 4 executions go before it.`,
    figures: { limit: 20, inFlight: 20, free: 0, oldestRunId: RUN_ID, oldestStartedAt: at, ahead: 4 },
  },
  { gate: "workspace_share", holds: false, message: "The workspace's share of this node has room.", figures: { usedUp: [] } },
  {
    gate: "quota",
    holds: false,
    message: "1200 of the month's 100000 executions are used. The quota does not hold runs that were accepted.",
    figures: { used: 1200, limit: 100_000, resetsAt: "2026-12-01T00:00:00.000Z" },
  },
];

/** Why a run is not being executed. */
export const RunExplanation = Type.Object(
  {
    runId: RunId,
    workflowId: WorkflowId,
    status: RunStatus,
    heldBy: Type.Array(RunGateName, { description: "The gates that hold the run; empty when none does." }),
    summary: Type.String({
      description: "Why the run is not being executed, in a sentence or two; while it is, since when; after it has ended, how.",
    }),
    ahead: Nullable(Count("Executions."), {
      description: "Executions of the workflow that may start before this one; null while the run is executed or when it has ended.",
    }),
    aheadIsMore: Type.Boolean({
      description: "Whether there are more than `ahead` says: at most 10,000 are counted, or fewer when the workflow has a limit.",
    }),
    gates: Type.Array(ExplainedRunGate, {
      description: "All gates, each once, always in the same order. Of a run that has ended only `state`.",
    }),
    estimatedStart: Nullable(Moment("RFC 3339 in UTC."), {
      description: "When the run should be executed if nothing changes; null when that cannot be known.",
    }),
  },
  {
    title: "RunExplanation",
    description: "Why a run is not being executed, and when it is expected to be.",
    examples: [
      {
        runId: RUN_ID,
        workflowId: "user.onboard",
        status: "pending",
        heldBy: ["concurrency"],
        summary: `Not running: ${held}. 4 executions go before it, and it should start in 9 s.`,
        ahead: 4,
        aheadIsMore: false,
        gates: exampleGates,
        estimatedStart: "2026-11-21T09:30:09.000Z",
      },
    ],
  },
);
export type RunExplanation = Static<typeof RunExplanation>;

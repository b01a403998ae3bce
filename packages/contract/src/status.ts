import { type Static, Type } from "typebox";
import { each } from "./each.ts";
import { JOB_STATES } from "./jobs.ts";
import { Moment, Nullable } from "./paging.ts";
import { PlanName } from "./plans.ts";
import { RUN_STATUSES } from "./runs.ts";

const Count = (description: string) => Type.Integer({ minimum: 0, description });
const HealthLevel = Type.Enum(["ok", "degraded"], { title: "Health", description: "`degraded` when something needs attention." });

const Check = Type.Object(
  {
    name: Type.Enum(["quota", "callbacks", "circuits", "dead_letters", "webhooks", "workers"], { description: "What was checked." }),
    status: HealthLevel,
    message: Type.String({ description: "What was found, for people." }),
  },
  { title: "Check", description: "One check of the workspace's health." },
);
export type Check = Static<typeof Check>;

const Window = Type.Object(
  {
    limit: Type.Integer({ description: "Requests that the workspace may send in any 60 seconds." }),
    remaining: Count("Requests that are left now."),
    resets_at: Moment("When the full limit is available again if no more requests are sent."),
  },
  { title: "RequestRate", description: "The workspace's limit of requests." },
);

/** A workspace's health and quota. Source: specification, Status and usage; contract §10. */
export const Status = Type.Object(
  {
    status: HealthLevel,
    workspace: Type.Object(
      {
        id: Type.String({ description: "Id of the workspace." }),
        name: Type.String({ description: "Name of the workspace." }),
        plan: PlanName,
      },
      { title: "StatusWorkspace", description: "The workspace of the key." },
    ),
    checks: Type.Array(Check, { description: "What was checked. `status` is `degraded` when one of the checks is." }),
    jobs: Type.Object(
      each(JOB_STATES, (state) => Count(`Jobs in state ${state}.`)),
      {
        title: "JobCounts",
        description: "How many jobs are in each state, over all queues.",
      },
    ),
    runs: Type.Object(
      each(RUN_STATUSES, (status) => Count(`Runs in status ${status}.`)),
      {
        title: "RunCounts",
        description: "How many workflow runs are in each status.",
      },
    ),
    queues: Count("How many queues the workspace has."),
    schedules: Count("How many schedules the workspace has."),
    quota: Type.Object(
      {
        used: Count("Executions used."),
        limit: Nullable(Count("Executions."), { description: "Executions that the workspace may use in the month; null: any number." }),
        remaining: Nullable(Count("Executions."), { description: "Executions that are left; null without a limit." }),
        resets_at: Moment("When the next month begins, in UTC."),
      },
      { title: "Quota", description: "Executions of the current calendar month." },
    ),
    rate_limit: Nullable(Window, { description: "The limit of requests; null for a workspace without one." }),
  },
  {
    title: "Status",
    description: "The workspace's health, its jobs, and what is left of its quota.",
    examples: [
      {
        status: "ok",
        workspace: { id: "ws_01kajv3k4ve6nsd9z5kgtzx0rw", name: "Acme", plan: "pro" },
        checks: [
          { name: "quota", status: "ok", message: "1200 of 100000 executions are used." },
          { name: "callbacks", status: "ok", message: "Callbacks are sent." },
          { name: "circuits", status: "ok", message: "No circuit is open." },
          { name: "dead_letters", status: "ok", message: "Jobs that failed for good in the last minute: 0." },
          { name: "webhooks", status: "ok", message: "No webhook was switched off because it failed." },
        ],
        jobs: { waiting: 12, delayed: 3, pending_approval: 0, active: 4, completed: 9120, failed: 2, cancelled: 1, rejected: 0 },
        runs: { pending: 0, running: 0, sleeping: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 },
        queues: 3,
        schedules: 0,
        quota: { used: 1200, limit: 100_000, remaining: 98_800, resets_at: "2026-12-01T00:00:00.000Z" },
        rate_limit: { limit: 300, remaining: 297, resets_at: "2026-11-21T09:31:00.000Z" },
      },
    ],
  },
);
export type Status = Static<typeof Status>;

export const StatusQuery = Type.Object({}, { additionalProperties: false });

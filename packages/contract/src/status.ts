import { type Static, Type } from "typebox";
import { JOB_STATES } from "./jobs.ts";
import { Nullable, Timestamp } from "./paging.ts";
import { PLAN_NAMES } from "./plans.ts";

const Count = Type.Integer({ minimum: 0 });

/** Every status of a workflow run, in order of life. Source: contract §11. */
export const RUN_STATUSES = ["pending", "running", "sleeping", "waiting", "completed", "failed", "cancelled"] as const;

const Check = Type.Object({
  name: Type.Enum(["quota", "callbacks", "dead_letters"]),
  status: Type.Enum(["ok", "degraded"]),
  message: Type.String(),
});
export type Check = Static<typeof Check>;

const Window = Type.Object({
  limit: Type.Integer(),
  remaining: Count,
  resets_at: Type.String({ format: "date-time", description: "When the whole limit is free again if nothing more is sent." }),
});

/** A workspace's health and quota. Source: specification, Status and usage; contract §10. */
export const Status = Type.Object(
  {
    status: Type.Enum(["ok", "degraded"], { description: "`degraded` when a check is." }),
    workspace: Type.Object({ id: Type.String(), name: Type.String(), plan: Type.Enum([...PLAN_NAMES]) }),
    checks: Type.Array(Check),
    jobs: Type.Object(Object.fromEntries(JOB_STATES.map((state) => [state, Count]))),
    runs: Type.Object(Object.fromEntries(RUN_STATUSES.map((status) => [status, Count]))),
    queues: Count,
    schedules: Count,
    quota: Type.Object(
      { used: Count, limit: Nullable(Count), remaining: Nullable(Count), resets_at: Timestamp },
      { description: "Executions of the current month." },
    ),
    rate_limit: Nullable(Window),
  },
  {
    examples: [
      {
        status: "ok",
        workspace: { id: "ws_01kajv3k4ve6nsd9z5kgtzx0rw", name: "Acme", plan: "pro" },
        checks: [
          { name: "quota", status: "ok", message: "1200 of 100000 executions are used." },
          { name: "callbacks", status: "ok", message: "Callbacks go out." },
          { name: "dead_letters", status: "ok", message: "Jobs that failed for good in the last minute: 0." },
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

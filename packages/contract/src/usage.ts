import { type Static, Type } from "typebox";
import { Moment, Nullable } from "./paging.ts";
import { PlanName } from "./plans.ts";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const Attempts = Type.Object(
  {
    total: Count("Attempts that succeeded or failed."),
    succeeded: Count("Attempts that completed their job."),
    failed: Count("Attempts that failed."),
  },
  {
    title: "AttemptCounts",
    description: "Attempts that ended. Those that were cancelled, released, or lost with their node are not counted.",
  },
);

/** The executions and attempts of a billing period. Source: specification, Status and usage; contract §10. */
export const Usage = Type.Object(
  {
    period: Type.Object(
      { start: Moment("The first moment of the period."), end: Moment("The first moment after the period.") },
      { title: "UsagePeriod", description: "A calendar month in UTC." },
    ),
    plan: PlanName,
    executions: Type.Object(
      {
        total: Count("Executions of the period."),
        limit: Nullable(Count("Executions."), { description: "Executions that the workspace may use in the period; null: any number." }),
        remaining: Nullable(Count("Executions."), { description: "Executions that are left; null without a limit." }),
        jobs: Count("Jobs that were enqueued."),
        schedules: Count("Jobs that schedules created."),
        workflows: Count("Workflow runs that were started."),
      },
      { title: "UsageExecutions", description: "Executions: each accepted job is one, whatever its retries." },
    ),
    attempts: Attempts,
    by_queue: Type.Array(
      Type.Object(
        {
          queue: Type.String({ description: "Name of the queue, which may have been deleted." }),
          executions: Count("Executions of the queue."),
          attempts: Attempts,
        },
        { title: "UsageByQueue", description: "The usage of one queue." },
      ),
      { description: "The 1,000 queues with the most executions, deleted ones included." },
    ),
    by_day: Type.Array(
      Type.Object(
        {
          day: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$", description: "The day in UTC, YYYY-MM-DD." }),
          executions: Count("Executions of the day."),
          attempts: Attempts,
        },
        { title: "UsageByDay", description: "The usage of one day." },
      ),
      { description: "The days with any usage, in UTC, the earliest first." },
    ),
  },
  {
    title: "Usage",
    description: "The executions and attempts of a billing period.",
    examples: [
      {
        period: { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" },
        plan: "pro",
        executions: { total: 1200, limit: 100_000, remaining: 98_800, jobs: 1200, schedules: 0, workflows: 0 },
        attempts: { total: 1264, succeeded: 1197, failed: 67 },
        by_queue: [{ queue: "emails", executions: 1200, attempts: { total: 1264, succeeded: 1197, failed: 67 } }],
        by_day: [{ day: "2026-11-21", executions: 1200, attempts: { total: 1264, succeeded: 1197, failed: 67 } }],
      },
    ],
  },
);
export type Usage = Static<typeof Usage>;

export const UsageQuery = Type.Object(
  {
    period: Type.Optional(
      Type.String({
        title: "UsageMonth",
        pattern: "^2[0-9]{3}-(0[1-9]|1[0-2])$",
        description: "The calendar month in UTC, YYYY-MM; the current one when left out.",
        examples: ["2026-11"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type UsageQuery = Static<typeof UsageQuery>;

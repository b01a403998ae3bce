import { type Static, Type } from "typebox";
import { Nullable, Timestamp } from "./paging.ts";
import { PLAN_NAMES } from "./plans.ts";

const Count = Type.Integer({ minimum: 0 });

const Attempts = Type.Object(
  { total: Count, succeeded: Count, failed: Count },
  { description: "Attempts that ended with an answer, or without one." },
);

/** The executions and attempts of a billing period. Source: specification, Status and usage; contract §10. */
export const Usage = Type.Object(
  {
    period: Type.Object(
      { start: Timestamp, end: Timestamp },
      { description: "The calendar month in UTC; its end is the start of the next." },
    ),
    plan: Type.Enum([...PLAN_NAMES]),
    executions: Type.Object({
      total: Count,
      limit: Nullable(Count),
      remaining: Nullable(Count),
      jobs: Type.Integer({ minimum: 0, description: "Jobs that were enqueued." }),
      schedules: Type.Integer({ minimum: 0, description: "Jobs that a schedule made." }),
      workflows: Type.Integer({ minimum: 0, description: "Runs that were started." }),
    }),
    attempts: Attempts,
    by_queue: Type.Array(Type.Object({ queue: Type.String(), executions: Count, attempts: Attempts }), {
      description: "The 1,000 queues with the most executions, deleted ones too.",
    }),
    by_day: Type.Array(Type.Object({ day: Type.String({ pattern: "^\\d{4}-\\d{2}-\\d{2}$" }), executions: Count, attempts: Attempts }), {
      description: "The days on which there was something, in UTC.",
    }),
  },
  {
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
        pattern: "^2[0-9]{3}-(0[1-9]|1[0-2])$",
        description: "A month, YYYY-MM; the current one when left out.",
        examples: ["2026-11"],
      }),
    ),
  },
  { additionalProperties: false },
);

import { type Static, Type } from "typebox";
import { JobId } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { Nullable, PageQuery, Timestamp } from "./paging.ts";
import { Attempts, QueueName } from "./queues.ts";

/** The states of schedules. Source: contract §6. */
export const SCHEDULE_STATES = ["active", "paused"] as const;
export type ScheduleState = (typeof SCHEDULE_STATES)[number];

/** What becomes of a tick while a job of the schedule has not finished. Source: contract §6. */
export const OVERLAPS = ["allow", "skip"] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** What becomes of ticks that a downtime kept from running. Source: contract §6. */
export const CATCH_UPS = ["none", "last", "all"] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

/** Why a tick made no job. */
export const SKIP_REASONS = ["overlap", "quota", "catch_up", "unreadable"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

const ScheduleName = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
  description: "Name of a schedule, unique in the workspace; made from the queue's name when left out. `preview` cannot be one.",
  examples: ["nightly-report"],
});

const Cron = Type.String({
  minLength: 1,
  maxLength: LIMITS.cronLength,
  description:
    "Five fields (minute, hour, day of month, month, day of week), or six with seconds first, or @hourly, @daily, @weekly, @monthly, @yearly.",
  examples: ["30 2 * * *"],
});

const Timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "IANA name of the time zone in which the cron expression is read.",
  examples: ["Europe/Berlin"],
});

const settings = {
  payload: Type.Optional(
    Type.Unknown({
      description:
        "Any JSON value, null when left out: the payload of each job. Templates like `${{ secrets.NAME }}` may stand in its strings.",
      examples: [{ report: "daily" }],
    }),
  ),
  tag: Type.Optional(Nullable(Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.tagLength, examples: ["reports"] }))),
  priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100, default: 0, description: "Higher goes first." })),
  concurrencyKey: Type.Optional(Nullable(Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.concurrencyKeyLength }))),
  attempts: Type.Optional(Nullable(Attempts)),
  overlap: Type.Optional(
    Type.Enum([...OVERLAPS], {
      default: "allow",
      description: "`skip`: a tick makes no job while a job of the schedule has not finished.",
    }),
  ),
  catch_up: Type.Optional(
    Type.Enum([...CATCH_UPS], {
      default: "last",
      description: "Which ticks run that a downtime kept from running: none, the last, or all, at most the newest 1,000.",
    }),
  ),
};

const nightly = { name: "nightly-report", queue: "reports", cron: "30 2 * * *", timezone: "Europe/Berlin", payload: { report: "daily" } };

export const CreateSchedule = Type.Object(
  { name: Type.Optional(ScheduleName), queue: QueueName, cron: Cron, timezone: Timezone, ...settings },
  { additionalProperties: false, examples: [nightly] },
);
export type CreateSchedule = Static<typeof CreateSchedule>;

export const PatchSchedule = Type.Object(
  { queue: Type.Optional(QueueName), cron: Type.Optional(Cron), timezone: Type.Optional(Timezone), ...settings },
  { additionalProperties: false, minProperties: 1, examples: [{ cron: "0 3 * * *" }] },
);
export type PatchSchedule = Static<typeof PatchSchedule>;

/** A schedule. Source: specification, Schedule; contract §6. */
export const Schedule = Type.Object(
  {
    name: Type.String(),
    queue: Type.String(),
    cron: Type.String(),
    timezone: Type.String(),
    payload: Type.Unknown({ description: "As it was sent." }),
    tag: Nullable(Type.String()),
    priority: Type.Integer(),
    concurrencyKey: Nullable(Type.String()),
    attempts: Nullable(Type.Integer({ description: "Attempts per job; null: the queue's." })),
    overlap: Type.Enum([...OVERLAPS]),
    catch_up: Type.Enum([...CATCH_UPS]),
    state: Type.Enum([...SCHEDULE_STATES]),
    next_run_at: Nullable(
      Type.String({ format: "date-time", description: "The next tick; null while paused, or when there is none any more." }),
    ),
    last_run_at: Nullable(
      Type.String({ format: "date-time", description: "The tick, or the trigger by hand, that the newest job was made for." }),
    ),
    last_job_id: Nullable(JobId),
    last_skip: Nullable(
      Type.Object(
        { scheduled_for: Timestamp, reason: Type.Enum([...SKIP_REASONS]) },
        { description: "The newest tick that made no job, and why." },
      ),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  {
    examples: [
      {
        ...nightly,
        tag: null,
        priority: 0,
        concurrencyKey: null,
        attempts: null,
        overlap: "allow",
        catch_up: "last",
        state: "active",
        next_run_at: "2026-11-22T01:30:00.000Z",
        last_run_at: "2026-11-21T01:30:00.000Z",
        last_job_id: "job_01kajv3k4ve6nsd9z5kgtzx0rw",
        last_skip: null,
        created_at: "2026-11-01T09:30:00.000Z",
        updated_at: "2026-11-01T09:30:00.000Z",
      },
    ],
  },
);
export type Schedule = Static<typeof Schedule>;

export const SchedulePath = Type.Object({ name: ScheduleName });

export const ListSchedules = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(Type.String({ ...PageQuery.cursor, examples: ["2s"] })),
    queue: Type.Optional(Type.String({ format: "storable", description: "One queue, or several with commas.", examples: ["reports"] })),
    state: Type.Optional(Type.String({ format: "schedule-states", description: "One state, or both with a comma.", examples: ["active"] })),
  },
  { additionalProperties: false },
);

export const PreviewSchedule = Type.Object(
  {
    cron: Cron,
    timezone: Timezone,
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 5, description: "How many runs at most.", examples: [5] })),
  },
  { additionalProperties: false },
);

/** The next ticks of a cron expression, as no schedule has it yet. Source: contract §6. */
export const SchedulePreview = Type.Object(
  {
    cron: Type.String(),
    timezone: Type.String(),
    runs: Type.Array(
      Type.Object({
        run_at: Timestamp,
        local: Type.String({ description: "The same moment by the clocks of the time zone, with its offset from UTC." }),
      }),
    ),
  },
  {
    examples: [
      {
        cron: "30 2 * * *",
        timezone: "Europe/Berlin",
        runs: [{ run_at: "2026-11-22T01:30:00.000Z", local: "2026-11-22T02:30:00+01:00" }],
      },
    ],
  },
);
export type SchedulePreview = Static<typeof SchedulePreview>;

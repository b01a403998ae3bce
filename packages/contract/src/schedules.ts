import { type Static, Type } from "typebox";
import { Attempts, JobId, Priority } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { ConcurrencyKey, NAME, QueueFilter, QueueName, Tag } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

/** The states of schedules. Source: contract §6. */
export const SCHEDULE_STATES = ["active", "paused"] as const;
export type ScheduleState = (typeof SCHEDULE_STATES)[number];
const ScheduleState = Type.Enum([...SCHEDULE_STATES], {
  title: "ScheduleState",
  description: "Whether ticks create jobs (`active`) or are skipped (`paused`).",
});

/** What a tick does while a job of the schedule has not finished. Source: contract §6. */
export const OVERLAPS = ["allow", "skip"] as const;
export type Overlap = (typeof OVERLAPS)[number];
const Overlap = Type.Enum([...OVERLAPS], {
  title: "Overlap",
  description: "`skip`: a tick creates no job while an earlier job of the schedule has not finished. Default: `allow`.",
});

/** What happens after a downtime to the ticks that it missed. Source: contract §6. */
export const CATCH_UPS = ["none", "last", "all"] as const;
export type CatchUp = (typeof CATCH_UPS)[number];
const CatchUp = Type.Enum([...CATCH_UPS], {
  title: "CatchUp",
  description:
    "Which of the ticks that were missed in a downtime run afterwards: none, the last one, or all (at most the newest 1,000). Default: `last`.",
});

/** Why a tick created no job. */
export const SKIP_REASONS = ["overlap", "quota", "catch_up", "unreadable"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
const SkipReason = Type.Enum([...SKIP_REASONS], {
  title: "SkipReason",
  description:
    "Why a tick created no job. `overlap`: an earlier job had not finished. `quota`: the month's executions were used up. " +
    "`catch_up`: the tick was missed in a downtime. `unreadable`: the node did not know the time zone and tries again an hour later.",
});

const ScheduleName = Type.String({
  title: "ScheduleName",
  pattern: NAME,
  description: "Name of a schedule, unique in the workspace; `preview` is reserved. Derived from the queue's name when left out.",
  examples: ["nightly-report"],
});

export const Cron = Type.String({
  title: "CronExpression",
  minLength: 1,
  maxLength: LIMITS.cronLength,
  description:
    "Five fields (minute, hour, day of month, month, day of week), or six with seconds first, or @hourly, @daily, @weekly, @monthly, @yearly.",
  examples: ["30 2 * * *"],
});

export const Timezone = Type.String({
  title: "TimeZone",
  minLength: 1,
  maxLength: 64,
  description: "IANA name of the time zone in which the cron expression is read.",
  examples: ["Europe/Berlin"],
});

const settings = {
  payload: Type.Optional(
    Type.Unknown({
      description:
        "The payload of each job: any JSON value, null when left out. Its strings may contain templates like `${{ secrets.NAME }}`.",
      examples: [{ report: "daily" }],
    }),
  ),
  tag: Type.Optional(Nullable(Tag, { description: "The tag of each job." })),
  priority: Type.Optional(Priority),
  concurrencyKey: Type.Optional(Nullable(ConcurrencyKey, { description: "The concurrency key of each job." })),
  attempts: Type.Optional(Nullable(Attempts, { description: "Attempts per job; null or left out: the queue's." })),
  overlap: Type.Optional(Overlap),
  catch_up: Type.Optional(CatchUp),
};

const nightly = { name: "nightly-report", queue: "reports", cron: "30 2 * * *", timezone: "Europe/Berlin", payload: { report: "daily" } };

export const CreateSchedule = Type.Object(
  { name: Type.Optional(ScheduleName), queue: QueueName, cron: Cron, timezone: Timezone, ...settings },
  {
    title: "CreateSchedule",
    description: "A schedule to create. Its queue must exist.",
    additionalProperties: false,
    examples: [nightly],
  },
);
export type CreateSchedule = Static<typeof CreateSchedule>;

export const PatchSchedule = Type.Object(
  { queue: Type.Optional(QueueName), cron: Type.Optional(Cron), timezone: Type.Optional(Timezone), ...settings },
  {
    title: "PatchSchedule",
    description: "Changes to a schedule. Fields that are left out stay as they are.",
    additionalProperties: false,
    minProperties: 1,
    examples: [{ cron: "0 3 * * *" }],
  },
);
export type PatchSchedule = Static<typeof PatchSchedule>;

/** A schedule. Source: specification, Schedule; contract §6. */
export const Schedule = Type.Object(
  {
    name: ScheduleName,
    queue: QueueName,
    cron: Cron,
    timezone: Timezone,
    payload: Type.Unknown({ description: "The payload of each job, with its templates as they were sent." }),
    tag: Nullable(Type.String(), { description: "The tag of each job." }),
    priority: Type.Integer({ description: "The priority of each job, -100 to 100." }),
    concurrencyKey: Nullable(Type.String(), { description: "The concurrency key of each job." }),
    attempts: Nullable(Type.Integer(), { description: "Attempts per job; null: the queue's." }),
    overlap: Overlap,
    catch_up: CatchUp,
    state: ScheduleState,
    next_run_at: Nullable(Moment("RFC 3339 in UTC."), {
      description: "The next tick; null while paused, or when there is no further tick.",
    }),
    last_run_at: Nullable(Moment("RFC 3339 in UTC."), {
      description: "The tick, or the manual trigger, that the newest job was created for; null before the first.",
    }),
    last_job_id: Nullable(JobId, { description: "Id of the newest job; null before the first." }),
    last_skip: Nullable(
      Type.Object(
        { scheduled_for: Moment("The tick that created no job."), reason: SkipReason },
        { title: "SkippedTick", description: "A tick that created no job." },
      ),
      { description: "The newest tick that created no job; null when there was none." },
    ),
    created_at: Moment("When the schedule was created."),
    updated_at: Moment("When its settings or state last changed."),
  },
  {
    title: "Schedule",
    description: "A schedule: it creates a job at each tick of a cron expression.",
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
    cursor: Cursor("ScheduleCursor", "h1xUo2mGz8kT0rQmY5c9Wg"),
    queue: Type.Optional(QueueFilter),
    state: Type.Optional(
      Type.String({
        title: "ScheduleStateFilter",
        format: "schedule-states",
        description: "Only schedules in this state, or in both, separated by a comma.",
        examples: ["active"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListSchedules = Static<typeof ListSchedules>;

export const ListSkippedTicks = Type.Object({ limit: PageQuery.limit }, { additionalProperties: false });
export type ListSkippedTicks = Static<typeof ListSkippedTicks>;

/** The newest skipped ticks of a schedule. */
export const SkippedTicks = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          first: Moment("The first of the ticks."),
          last: Moment("The last of the ticks."),
          reason: SkipReason,
        },
        { title: "SkippedTicks", description: "Consecutive ticks that created no job for the same reason." },
      ),
      { description: "The skipped ticks, newest first." },
    ),
  },
  {
    title: "SkippedTickList",
    description: "The newest skipped ticks of a schedule, with one entry for consecutive ticks that have the same reason.",
    examples: [{ data: [{ first: "2026-11-21T01:30:00.000Z", last: "2026-11-22T01:30:00.000Z", reason: "overlap" }] }],
  },
);
export type SkippedTicks = Static<typeof SkippedTicks>;

export const PreviewSchedule = Type.Object(
  {
    cron: Cron,
    timezone: Timezone,
    from: Type.Optional(
      Type.String({
        title: "PreviewFrom",
        format: "date-time",
        description: "Only ticks after this moment; now when left out.",
        examples: ["2026-12-01T00:00:00Z"],
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        title: "RunCount",
        minimum: 1,
        maximum: 100,
        default: 5,
        description: "The largest number of runs to list.",
        examples: [5],
      }),
    ),
    days: Type.Optional(
      Type.Integer({
        title: "DayCount",
        minimum: 1,
        maximum: 42,
        description: "How many days to count runs for, beginning with the day on which the preview begins.",
        examples: [31],
      }),
    ),
  },
  { additionalProperties: false },
);
export type PreviewSchedule = Static<typeof PreviewSchedule>;

/** The next ticks of a cron expression, without a schedule. Source: contract §6. */
export const SchedulePreview = Type.Object(
  {
    cron: Cron,
    timezone: Timezone,
    runs: Type.Array(
      Type.Object(
        {
          run_at: Moment("The tick, in UTC."),
          local: Type.String({ description: "The same moment in the time zone, with its offset from UTC." }),
        },
        { title: "PreviewedRun", description: "One tick." },
      ),
      { description: "The next ticks, the earliest first." },
    ),
    days: Type.Optional(
      Type.Array(
        Type.Object(
          {
            day: Type.String({ description: "The day in the time zone." }),
            runs: Type.Integer({ description: "How many ticks the whole day has." }),
            first_at: Nullable(Moment("RFC 3339 in UTC."), { description: "The first of them; null when there is none." }),
            last_at: Nullable(Moment("RFC 3339 in UTC."), { description: "The last of them; null when there is none." }),
          },
          { title: "PreviewedDay", description: "A day, and how many ticks it has." },
        ),
        { description: "The requested days, in order." },
      ),
    ),
  },
  {
    title: "SchedulePreview",
    description: "The next ticks of a cron expression.",
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

import { type Static, Type } from "typebox";
import { NAME } from "./names.ts";
import { Cursor, Moment, Nullable, PageQuery } from "./paging.ts";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

/** The steps of metrics, in seconds. Those below an hour are kept for seven days. */
export const METRIC_STEPS = [60, 300, 900, 3_600, 21_600, 86_400] as const;

/** The most steps in one response. */
export const MAX_METRIC_STEPS = 1_500;

/** For how many days metrics are kept by the minute. */
export const MINUTE_METRICS_DAYS = 7;

/** Only this queue. */
const OfQueue = Type.Optional(
  Type.String({ title: "OfQueue", pattern: NAME, description: "Name of a queue. Default: all queues.", examples: ["emails"] }),
);

const From = (what: string, example = "2026-11-21T08:00:00Z") =>
  Type.Optional(Type.String({ title: `${what}From`, format: "date-time", description: "From this moment on.", examples: [example] }));
const To = (what: string, example = "2026-11-21T09:30:00Z") =>
  Type.Optional(Type.String({ title: `${what}To`, format: "date-time", description: "Before this moment.", examples: [example] }));

export const MetricsQuery = Type.Object(
  {
    queue: OfQueue,
    from: Type.Optional(
      Type.String({
        title: "MetricsFrom",
        format: "date-time",
        description: "The first moment, rounded down to a step. Default: an hour before `to`.",
        examples: ["2026-11-21T08:00:00Z"],
      }),
    ),
    to: Type.Optional(
      Type.String({
        title: "MetricsTo",
        format: "date-time",
        description: "The moment after the last one, rounded up to a step. Default: now.",
        examples: ["2026-11-21T09:00:00Z"],
      }),
    ),
    step: Type.Optional(
      Type.Integer({
        title: "MetricsStep",
        minimum: METRIC_STEPS[0],
        maximum: 86_400,
        description: `The length of a step in seconds: ${METRIC_STEPS.join(", ")}. Default: the shortest one that is kept for the whole range and gives at most 200 steps.`,
        examples: [60],
      }),
    ),
  },
  { additionalProperties: false },
);
export type MetricsQuery = Static<typeof MetricsQuery>;

const Milliseconds = (description: string) => Nullable(Type.Number({ description: "Milliseconds." }), { description });

const Step = Type.Object(
  {
    at: Moment("When the step begins."),
    enqueued: Count("Jobs that callers and schedules enqueued."),
    completed: Count("Jobs that completed."),
    failed: Count("Jobs that failed for good, and went to the dead-letter queue."),
    retried: Count("Attempts that failed, but not for good: another one followed."),
    latency_ms: Type.Object(
      {
        p50: Milliseconds("The median; null when no job completed."),
        p99: Milliseconds("The 99th percentile; null when no job completed."),
      },
      {
        title: "MetricsLatency",
        description:
          "The time from due to completed. A retried job is due again after its wait. Values are counted in buckets, accurate to an eighth. Milliseconds.",
      },
    ),
    oldest_waiting_seconds: Nullable(Type.Number({ description: "Seconds." }), {
      description:
        "How long the job that waited longest had been due: the highest value in the step, which is measured once a minute. Null when none waited.",
    }),
  },
  { title: "MetricsStep", description: "What happened in one step." },
);
export type MetricsStep = Static<typeof Step>;

/** What happened in a queue or in all of them, over time. Source: contract §13. */
export const Metrics = Type.Object(
  {
    queue: Nullable(Type.String(), { description: "Name of the queue; null: all queues, including those deleted since." }),
    from: Moment("When the first step begins."),
    to: Moment("When the last step ends."),
    step: Type.Integer({ description: "The length of a step. Seconds." }),
    kept_from: Nullable(Moment("RFC 3339 in UTC."), {
      description: "Steps of this length are kept from this moment on, and earlier ones are left out. Null: they are kept forever.",
    }),
    data: Type.Array(Step, { maxItems: MAX_METRIC_STEPS, description: "The steps, the earliest first, without gaps." }),
  },
  {
    title: "Metrics",
    description: "What happened over time.",
    examples: [
      {
        queue: "emails",
        from: "2026-11-21T09:29:00.000Z",
        to: "2026-11-21T09:30:00.000Z",
        step: 60,
        kept_from: "2026-11-14T09:30:00.000Z",
        data: [
          {
            at: "2026-11-21T09:29:00.000Z",
            enqueued: 320,
            completed: 312,
            failed: 0,
            retried: 4,
            latency_ms: { p50: 17.6, p99: 141.2 },
            oldest_waiting_seconds: 0.4,
          },
        ],
      },
    ],
  },
);
export type Metrics = Static<typeof Metrics>;

/** The limits of a deploy's texts. */
const DEPLOY_TEXT = { format: "storable", minLength: 1, maxLength: 128 } as const;

export const NewDeploy = Type.Object(
  {
    name: Type.String({ ...DEPLOY_TEXT, description: "What was deployed." }),
    version: Type.String({ ...DEPLOY_TEXT, description: "Its version." }),
  },
  {
    title: "NewDeploy",
    description: "A deploy to mark on charts and in the audit log.",
    additionalProperties: false,
    examples: [{ name: "shop", version: "v214" }],
  },
);
export type NewDeploy = Static<typeof NewDeploy>;

export const Deploy = Type.Object(
  {
    id: Type.String({ pattern: "^dep_[0-7][0-9a-hjkmnp-tv-z]{25}$", description: "Id of the deploy." }),
    name: Type.String({ description: "What was deployed." }),
    version: Type.String({ description: "Its version." }),
    actor_id: Type.String({ description: "Who marked it: the id of a key or of a person." }),
    created_at: Moment("When it was marked."),
  },
  {
    title: "Deploy",
    description: "A deploy of something of yours. It is kept as long as finished jobs are.",
    examples: [
      {
        id: "dep_01kajv3k4ve6nsd9z5kgtzx0rw",
        name: "shop",
        version: "v214",
        actor_id: "key_01kajv2m9qf1h8s0w6r3n5d7xe",
        created_at: "2026-11-21T09:30:00.000Z",
      },
    ],
  },
);
export type Deploy = Static<typeof Deploy>;

export const ListDeploys = Type.Object(
  { ...PageQuery, cursor: Cursor("DeployCursor", "dep_01kajv3k4ve6nsd9z5kgtzx0rw"), from: From("Deploys"), to: To("Deploys") },
  { additionalProperties: false },
);
export type ListDeploys = Static<typeof ListDeploys>;

/** What a chart shows as a mark. */
export const CHANGE_TYPES = [
  "deploy",
  "circuit.opened",
  "circuit.closed",
  "queue.created",
  "queue.updated",
  "queue.paused",
  "queue.resumed",
  "queue.deleted",
  "schedule.created",
  "schedule.updated",
  "schedule.paused",
  "schedule.resumed",
  "schedule.deleted",
  "workflow.created",
  "workflow.updated",
  "workflow.deleted",
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** The most changes in one response. */
export const MAX_CHANGES = 500;

export const ChangesQuery = Type.Object({ queue: OfQueue, from: From("Changes"), to: To("Changes") }, { additionalProperties: false });
export type ChangesQuery = Static<typeof ChangesQuery>;

const Change = Type.Object(
  {
    at: Moment("When it changed."),
    type: Type.Enum([...CHANGE_TYPES], { title: "ChangeType", description: "What changed." }),
    name: Type.String({ description: "Name of the queue, the schedule, the workflow, or of what was deployed." }),
    version: Nullable(Type.String(), { description: "The version that was deployed; null for other changes." }),
    settings: Type.Array(Type.String(), { description: "Names of the settings that changed." }),
    actor_id: Nullable(Type.String(), { description: "Who changed it; null for circuits." }),
  },
  { title: "Change", description: "Something that changed, to be marked on charts." },
);
export type Change = Static<typeof Change>;

/** What changed, for charts: deploys, circuits, pauses and settings. */
export const Changes = Type.Object(
  {
    from: Moment("The beginning of the range."),
    to: Moment("Its end."),
    data: Type.Array(Change, { maxItems: MAX_CHANGES, description: `The newest ${MAX_CHANGES} changes, newest first.` }),
    truncated: Type.Boolean({ description: "Whether the range has more changes than these." }),
  },
  {
    title: "Changes",
    description: "What changed.",
    examples: [
      {
        from: "2026-11-21T08:30:00.000Z",
        to: "2026-11-21T09:30:00.000Z",
        data: [
          {
            at: "2026-11-21T09:10:00.000Z",
            type: "queue.updated",
            name: "emails",
            version: null,
            settings: ["concurrency"],
            actor_id: "key_01kajv2m9qf1h8s0w6r3n5d7xe",
          },
          {
            at: "2026-11-21T09:00:00.000Z",
            type: "deploy",
            name: "shop",
            version: "v214",
            settings: [],
            actor_id: "key_01kajv2m9qf1h8s0w6r3n5d7xe",
          },
        ],
        truncated: false,
      },
    ],
  },
);
export type Changes = Static<typeof Changes>;

import { type Static, Type } from "typebox";
import { Fingerprint, Job, JobId } from "./jobs.ts";
import { LIMITS } from "./limits.ts";
import { QueueFilter, TagFilter } from "./names.ts";
import { Moment, Nullable, PageQuery } from "./paging.ts";

/** How many ids one request or filter may have. */
export const MAX_IDS = 100;
const ID = "job_[0-7][0-9a-hjkmnp-tv-z]{25}";

/** Which jobs of all queues a list, a count or an operation is for. Source: contract §13. */
const filters = {
  state: Type.Optional(
    Type.String({
      title: "JobStateFilter",
      format: "job-states",
      description: "Only jobs in this state, or in one of several, separated by commas.",
      examples: ["waiting,delayed"],
    }),
  ),
  queue: Type.Optional(QueueFilter),
  tag: Type.Optional(TagFilter),
  concurrency_key: Type.Optional(
    Type.String({
      title: "ConcurrencyKeyFilter",
      format: "storable",
      description: "Only jobs with this concurrency key, or with one of several, separated by commas.",
      examples: ["customer-1815"],
    }),
  ),
  error_code: Type.Optional(
    Type.String({
      title: "JobErrorFilter",
      format: "attempt-errors",
      description: "Only jobs whose last error has this code, or one of several, separated by commas.",
      examples: ["TIMEOUT"],
    }),
  ),
  fingerprint: Type.Optional(Fingerprint),
  created_after: Type.Optional(
    Type.String({
      title: "CreatedAfter",
      format: "date-time",
      description: "Only jobs that were enqueued at this moment or later.",
      examples: ["2026-11-01T00:00:00Z"],
    }),
  ),
  created_before: Type.Optional(
    Type.String({
      title: "CreatedBefore",
      format: "date-time",
      description: "Only jobs that were enqueued before this moment.",
      examples: ["2026-12-01T00:00:00Z"],
    }),
  ),
  id: Type.Optional(
    Type.String({
      title: "JobIdFilter",
      pattern: `^${ID}(,${ID}){0,${MAX_IDS - 1}}$`,
      description: `Only the job with this id, or those with one of several, separated by commas: at most ${MAX_IDS}.`,
      examples: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"],
    }),
  ),
  payload_contains: Type.Optional(
    Type.String({
      title: "PayloadFilter",
      format: "storable",
      minLength: 1,
      maxLength: LIMITS.payloadFilterLength,
      description: "Only jobs whose payload contains this text, as it was sent and with the same case. It has no wildcards.",
      examples: ["ada@example.com"],
    }),
  ),
};

export const ListAllJobs = Type.Object({ ...PageQuery, ...filters }, { additionalProperties: false });
export type ListAllJobs = Static<typeof ListAllJobs>;

export const CountJobs = Type.Object(filters, { additionalProperties: false });
export type CountJobs = Static<typeof CountJobs>;

export const JobFilter = Type.Object(filters, {
  title: "JobFilter",
  description: "Which jobs the request is for: those that match every given filter. They are the filters of `GET /v1/jobs`.",
  additionalProperties: false,
  examples: [{ queue: "emails", error_code: "TIMEOUT" }],
});
export type JobFilter = Static<typeof JobFilter>;

export const FoundJobs = Type.Object(
  {
    data: Type.Array(Job, { description: "The jobs of the page, newest first." }),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        "The `cursor` of the next page; null at the end of the list, and only there: a page may be shorter than `limit`, or empty, before.",
    }),
    searched_until: Nullable(Moment("RFC 3339 in UTC."), {
      description:
        "Set when the page ended because the request had read as many jobs as it may: jobs that were enqueued before this moment have not " +
        "been searched, and `next_cursor` continues with them. Otherwise null.",
    }),
  },
  {
    title: "FoundJobs",
    description: "A page of the jobs of all queues, newest first.",
    examples: [{ data: (Job as { examples?: unknown[] }).examples, next_cursor: null, searched_until: null }],
  },
);
export type FoundJobs = Static<typeof FoundJobs>;

export const JobCount = Type.Object(
  {
    count: Type.Integer({ description: "How many jobs match." }),
    exact: Type.Boolean({ description: "False: the request read as many jobs as it may, and at least `count` match." }),
  },
  { title: "JobCount", description: "How many jobs match a filter.", examples: [{ count: 17, exact: true }] },
);
export type JobCount = Static<typeof JobCount>;

/** What an operation does with each of its jobs. */
export const OPERATION_ACTIONS = ["retry", "cancel", "remove"] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

/** The states of an operation, in order of life. */
export const OPERATION_STATES = ["running", "completed", "cancelled"] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

export const OperationId = Type.String({
  title: "OperationId",
  pattern: "^op_[0-7][0-9a-hjkmnp-tv-z]{25}$",
  description: "Id of an operation.",
  examples: ["op_01kajv4q7me2ttf6b9c8x0yz3n"],
});

export const OperationPath = Type.Object({ id: OperationId });
export type OperationPath = Static<typeof OperationPath>;

export const StartOperation = Type.Object(
  {
    filter: Type.Optional(JobFilter),
    ids: Type.Optional(
      Type.Array(JobId, {
        minItems: 1,
        maxItems: LIMITS.operationIds,
        description: `The jobs, at most ${LIMITS.operationIds.toLocaleString("en")}; instead of \`filter\`.`,
      }),
    ),
  },
  {
    title: "StartOperation",
    description:
      "Which jobs to change: all that match `filter`, or those of `ids`. One of the two is required; `{}` as a filter means every job.",
    additionalProperties: false,
    examples: [{ filter: { queue: "emails", error_code: "TIMEOUT" } }],
  },
);
export type StartOperation = Static<typeof StartOperation>;

export const Operation = Type.Object(
  {
    id: OperationId,
    action: Type.Enum([...OPERATION_ACTIONS], { title: "OperationAction", description: "What happens to each job." }),
    state: Type.Enum([...OPERATION_STATES], {
      title: "OperationState",
      description:
        "`running`: jobs are being changed. `completed`: all were. `cancelled`: somebody stopped it; jobs that were changed stay so.",
    }),
    filter: Nullable(JobFilter, { description: "Which jobs it is for; null when ids were given." }),
    ids: Nullable(Type.Integer(), { description: "How many ids were given; null when it has a filter." }),
    matched: Type.Integer({ description: "How many jobs matched when the operation was requested." }),
    matched_exact: Type.Boolean({ description: "False: the jobs were too many to count, and at least `matched` did." }),
    done: Type.Integer({ description: "How many jobs were changed so far." }),
    skipped: Type.Integer({ description: "How many jobs were not changed because they no longer matched when it was their turn." }),
    actor_id: Type.String({ description: "Who requested it: the id of a key or of a person." }),
    created_at: Moment("When it was requested."),
    finished_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When it ended; null while it is running." }),
  },
  {
    title: "Operation",
    description: "A change of many jobs, which nodes execute in the background.",
    examples: [
      {
        id: "op_01kajv4q7me2ttf6b9c8x0yz3n",
        action: "retry",
        state: "running",
        filter: { state: "failed", queue: "emails" },
        ids: null,
        matched: 1815,
        matched_exact: true,
        done: 500,
        skipped: 0,
        actor_id: "key_01kajv2m9qf1h8s0w6r3n5d7xe",
        created_at: "2026-11-21T09:30:00.000Z",
        finished_at: null,
      },
    ],
  },
);
export type Operation = Static<typeof Operation>;

export const ListOperations = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(
      Type.String({
        title: "OperationCursor",
        maxLength: 256,
        description: "`next_cursor` of the page before.",
        examples: ["op_01kajv4q7me2ttf6b9c8x0yz3n"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListOperations = Static<typeof ListOperations>;

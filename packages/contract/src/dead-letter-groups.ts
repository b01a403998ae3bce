import { type Static, Type } from "typebox";
import { JobId } from "./jobs.ts";
import { QueueName } from "./names.ts";
import { Moment, Nullable, PageQuery } from "./paging.ts";

export const DeadLetterGroup = Type.Object(
  {
    fingerprint: Type.String({ pattern: "^[0-9a-f]{16}$", description: "Names the group in filters." }),
    error: Type.Object(
      {
        code: Type.String({ description: `Error code of the jobs' last attempts: one of \`AttemptError\`.` }),
        status: Nullable(Type.Integer(), { description: "HTTP status of the handler's response; null when there was none." }),
        host: Nullable(Type.String(), {
          description: "Host that the queue calls, with its port if the URL has one; null when workers serve the queue.",
        }),
        message: Type.String({
          description:
            "What happened, without what differs from one job to the next: quoted values and addresses are `…`, numbers and ids are `#`.",
        }),
      },
      { title: "GroupError", description: "What the jobs have in common." },
    ),
    queues: Type.Array(QueueName, { description: "Queues in which jobs failed like this, at most 20." }),
    count: Type.Integer({ description: "How many jobs are in the dead-letter queue." }),
    first_seen_at: Moment("When the first of them failed, since the group was last empty."),
    last_seen_at: Moment("When a job last failed like this."),
    trend: Type.Array(Type.Integer(), {
      description: "How many jobs failed like this in each of the last 24 hours, oldest first, the current hour last.",
    }),
    sample_job: Nullable(
      Type.Object({ id: JobId, queue: QueueName }, { title: "SampleJob", description: "The job that was enqueued last." }),
      { description: "The job of the group that was enqueued last; null when all of them have just left." },
    ),
  },
  {
    title: "DeadLetterGroup",
    description: "Failed jobs that failed in the same way.",
    examples: [
      {
        fingerprint: "5f1c0a9b3e7d2468",
        error: { code: "HTTP_STATUS", status: 500, host: "api.example.com", message: "The handler responded with #." },
        queues: ["emails"],
        count: 1815,
        first_seen_at: "2026-11-21T08:12:45.000Z",
        last_seen_at: "2026-11-21T09:30:00.000Z",
        trend: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1630, 185],
        sample_job: { id: "job_01kajv3k4ve6nsd9z5kgtzx0rw", queue: "emails" },
      },
    ],
  },
);
export type DeadLetterGroup = Static<typeof DeadLetterGroup>;

export const ListDeadLetterGroups = Type.Object(
  {
    ...PageQuery,
    cursor: Type.Optional(
      Type.String({
        title: "DeadLetterGroupCursor",
        maxLength: 256,
        description: "`next_cursor` of the page before.",
        examples: ["dlg_zik0zj_5f1c0a9b3e7d2468"],
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListDeadLetterGroups = Static<typeof ListDeadLetterGroups>;

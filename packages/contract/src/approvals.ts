import { type Static, Type } from "typebox";
import { Job } from "./jobs.ts";
import { QueueFilter, TagFilter } from "./names.ts";
import { Moment, Nullable, PageQuery } from "./paging.ts";

const By = Type.String({
  format: "storable",
  minLength: 1,
  maxLength: 256,
  description: "Who decides: any name that the caller gives.",
  examples: ["ada@example.com"],
});
const Words = (description: string) => Type.Optional(Type.String({ format: "storable", maxLength: 4_096, description }));

/** Lets a job of an approval queue start. Source: contract §5. */
export const ApproveJob = Type.Object(
  { by: Type.Optional(By), comment: Words("A remark on the decision.") },
  {
    title: "ApproveJob",
    description: "An approval. Both fields may be left out.",
    additionalProperties: false,
    examples: [{ by: "ada@example.com", comment: "The amount is right." }],
  },
);
export type ApproveJob = Static<typeof ApproveJob>;

/** Ends a job of an approval queue before it starts. Source: contract §5. */
export const RejectJob = Type.Object(
  { by: Type.Optional(By), reason: Words("Why the job is rejected.") },
  {
    title: "RejectJob",
    description: "A rejection. Both fields may be left out.",
    additionalProperties: false,
    examples: [{ by: "ada@example.com", reason: "It was paid already." }],
  },
);
export type RejectJob = Static<typeof RejectJob>;

/** A job in `GET /v1/approvals`. */
export const PendingJob = Type.Object(
  {
    ...Job.properties,
    decide_at: Nullable(Moment("RFC 3339 in UTC."), { description: "When the queue decides by itself; null: never." }),
    on_timeout: Nullable(Type.Enum(["reject", "approve"]), { description: "What the queue decides then; null: nothing." }),
  },
  {
    title: "PendingJob",
    description: "A job that waits for a decision.",
    examples: [
      {
        id: "job_01kajv3k4ve6nsd9z5kgtzx0rw",
        queue: "payouts",
        state: "pending_approval",
        payload: { amount: 1200 },
        tag: "weekly",
        priority: 0,
        concurrencyKey: null,
        idempotencyKey: null,
        attempt: 0,
        attempts: 3,
        run_at: "2026-11-21T09:30:00.000Z",
        created_at: "2026-11-21T09:30:00.000Z",
        started_at: null,
        finished_at: null,
        result: null,
        schedule: null,
        scheduled_for: null,
        approval: null,
        last_error: null,
        decide_at: "2026-11-22T09:30:00.000Z",
        on_timeout: "reject",
      },
    ],
  },
);
export type PendingJob = Static<typeof PendingJob>;

export const ListApprovals = Type.Object(
  {
    ...PageQuery,
    queue: Type.Optional(QueueFilter),
    tag: Type.Optional(TagFilter),
  },
  { additionalProperties: false },
);
export type ListApprovals = Static<typeof ListApprovals>;

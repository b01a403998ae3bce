import { type Static, Type } from "typebox";
import { QueueFilter, TagFilter } from "./names.ts";
import { PageQuery } from "./paging.ts";

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

export const ListApprovals = Type.Object(
  {
    ...PageQuery,
    queue: Type.Optional(QueueFilter),
    tag: Type.Optional(TagFilter),
  },
  { additionalProperties: false },
);
export type ListApprovals = Static<typeof ListApprovals>;

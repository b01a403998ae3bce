import { type Static, Type } from "typebox";
import { PageQuery } from "./paging.ts";

const By = Type.String({
  format: "storable",
  minLength: 1,
  maxLength: 256,
  description: "Who decides, in the caller's own words.",
  examples: ["ada@example.com"],
});
const Words = Type.String({ format: "storable", maxLength: 4_096, description: "What the one who decides says about it." });

/** Lets a job of an approval queue start. Source: contract §5. */
export const ApproveJob = Type.Object(
  { by: Type.Optional(By), comment: Type.Optional(Words) },
  { additionalProperties: false, examples: [{ by: "ada@example.com", comment: "The amount is right." }] },
);
export type ApproveJob = Static<typeof ApproveJob>;

/** Ends a job of an approval queue unstarted. Source: contract §5. */
export const RejectJob = Type.Object(
  { by: Type.Optional(By), reason: Type.Optional(Words) },
  { additionalProperties: false, examples: [{ by: "ada@example.com", reason: "It was paid already." }] },
);
export type RejectJob = Static<typeof RejectJob>;

export const ListApprovals = Type.Object(
  {
    ...PageQuery,
    queue: Type.Optional(Type.String({ format: "storable", description: "One queue, or several with commas.", examples: ["payouts"] })),
    tag: Type.Optional(Type.String({ format: "storable", description: "One tag, or several with commas.", examples: ["welcome"] })),
  },
  { additionalProperties: false },
);

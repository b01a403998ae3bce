import { type Static, type TProperties, type TSchema, Type } from "typebox";

/** The page parameters of every list. Source: contract §1. */
export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: "How many records at most.", examples: [50] })),
  cursor: Type.Optional(
    Type.String({ maxLength: 256, description: "`next_cursor` of the page before.", examples: ["job_01kajv3k4ve6nsd9z5kgtzx0rw"] }),
  ),
} satisfies TProperties;

/** A page of records, newest first. */
export const Page = <T extends TSchema>(record: T) =>
  Type.Object(
    {
      data: Type.Array(record),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description: "Give it as `cursor` for the next page; null on the last one.",
      }),
    },
    { examples: [{ data: (record as { examples?: unknown[] }).examples ?? [], next_cursor: null }] },
  );

export const Timestamp = Type.String({
  format: "date-time",
  description: "RFC 3339 in UTC with milliseconds.",
  examples: ["2026-11-21T09:30:00.000Z"],
});

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export type PageParameters = { limit?: Static<typeof PageQuery.limit>; cursor?: Static<typeof PageQuery.cursor> };

import { type Static, type TProperties, type TSchema, Type } from "typebox";

/**
 * The `cursor` of a list.
 *
 * @param name of its schema in the OpenAPI document
 * @param example looks like a cursor of the list
 */
export const Cursor = (name: string, example: string) =>
  Type.Optional(Type.String({ title: name, maxLength: 256, description: "`next_cursor` of the page before.", examples: [example] }));

/** The page parameters of every list. Source: contract §1. */
export const PageQuery = {
  limit: Type.Optional(
    Type.Integer({
      title: "Limit",
      minimum: 1,
      maximum: 100,
      default: 50,
      description: "The largest number of records on the page.",
      examples: [50],
    }),
  ),
  cursor: Cursor("JobCursor", "job_01kajv3k4ve6nsd9z5kgtzx0rw"),
} satisfies TProperties;

/** A page of records, newest first. */
export const Page = <T extends TSchema>(record: T) => {
  const { title, examples = [] } = record as { title?: string; examples?: unknown[] };
  return Type.Object(
    {
      data: Type.Array(record, { description: "The records of the page, newest first." }),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description:
          "The `cursor` of the next page; null at the end of the list, and only there: a page may be shorter than `limit`, or empty, before.",
      }),
    },
    {
      ...(title !== undefined && { title: `${title}Page`, description: "A page of a list, newest first." }),
      examples: [{ data: examples, next_cursor: null }],
    },
  );
};

export const Timestamp = Type.String({
  format: "date-time",
  description: "RFC 3339 in UTC with milliseconds.",
  examples: ["2026-11-21T09:30:00.000Z"],
});

/** A moment of a record: RFC 3339 in UTC with milliseconds. */
export const Moment = (description: string) => Type.String({ format: "date-time", description });

export const Nullable = <T extends TSchema>(schema: T, options: { description?: string } = {}) =>
  Type.Union([schema, Type.Null()], options);

export type PageParameters = { limit?: Static<typeof PageQuery.limit>; cursor?: Static<typeof PageQuery.cursor> };

import { type Static, Type } from "typebox";
import { ERRORS, type ErrorCode } from "./errors.ts";

/** The envelope of every error. Source: specification, Errors. */
export const Problem = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.Enum(Object.keys(ERRORS) as ErrorCode[], {
          title: "ErrorCode",
          description: "What went wrong, for programs: match errors by this code. Each code has one HTTP status.",
        }),
        message: Type.String({ description: "What went wrong, for people. The text may change between releases." }),
        details: Type.Record(Type.String(), Type.Unknown(), {
          description: "More about the error, depending on the code; `{}` when there is nothing more.",
        }),
      },
      { title: "ProblemDetail", description: "What went wrong." },
    ),
  },
  {
    title: "Problem",
    description: "The envelope of every error.",
    examples: [
      {
        error: {
          code: "VALIDATION_ERROR",
          message: "The request is malformed.",
          details: { issues: [{ path: "payload", message: "is required" }] },
        },
      },
    ],
  },
);
export type Problem = Static<typeof Problem>;

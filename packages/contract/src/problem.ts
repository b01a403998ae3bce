import { type Static, Type } from "typebox";
import { ERRORS, type ErrorCode } from "./errors.ts";

/** The one envelope of every error. Source: specification, Errors. */
export const Problem = Type.Object(
  {
    error: Type.Object({
      code: Type.Enum(Object.keys(ERRORS) as ErrorCode[], { description: "Machine code." }),
      message: Type.String({ description: "Human-readable text." }),
      details: Type.Record(Type.String(), Type.Unknown(), { description: "Extra data; `{}` when there is none." }),
    }),
  },
  {
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

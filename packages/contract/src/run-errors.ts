import { type Static, Type } from "typebox";
import { LIMITS } from "./limits.ts";

export const RunError = Type.Object(
  {
    name: Type.String({ description: "Name of the error's class." }),
    message: Type.String({ description: "What went wrong." }),
  },
  { title: "RunError", description: "An error of a workflow's code.", examples: [{ name: "Error", message: "The card was declined." }] },
);
export type RunError = Static<typeof RunError>;

export const ReportedError = Type.Object(
  {
    name: Type.String({ format: "storable", minLength: 1, maxLength: LIMITS.errorNameLength, description: "Name of the error's class." }),
    message: Type.String({ format: "storable", maxLength: LIMITS.workerErrorLength, description: "What went wrong." }),
  },
  {
    title: "ReportedError",
    description: "With `failed`: why the step failed.",
    additionalProperties: false,
    examples: [{ name: "Error", message: "The card was declined." }],
  },
);
export type ReportedError = Static<typeof ReportedError>;

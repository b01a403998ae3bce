import type { ReportedStep } from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { NonRetryableError } from "../worker/errors.ts";
import { failureOf } from "./failure.ts";

/** The error of an execution whose steps could not be stored. If the service refused them, another attempt would do no better. */
export function notStored(steps: readonly ReportedStep[], error: unknown): Error {
  const isRefused = error instanceof TidemillError && error.status !== null && error.status < 500;
  const keys = steps.map(({ key }) => `"${key}"`).join(", ");
  const message = `The outcome of step ${keys} could not be stored: ${failureOf(error).message}`;
  return isRefused ? new NonRetryableError(message, { cause: error }) : new Error(message, { cause: error });
}

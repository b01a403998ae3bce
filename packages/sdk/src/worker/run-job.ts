import type * as contract from "@tidemill/contract";
import { parsePayload } from "../schema.ts";
import { JobAbortedError, NonRetryableError } from "./errors.ts";
import { workerJob } from "./job.ts";
import type { WorkerSettings } from "./options.ts";
import { retryOf } from "./retry-of.ts";

/** The outcome of an attempt, without its job. */
export type Outcome = Pick<contract.SettleJob, "outcome" | "result" | "error" | "retry" | "retry_in">;

const MAX_ERROR = 16_384;

/** Runs the handler of a job. Never rejects. */
export async function runJob({ handlers, logger }: WorkerSettings, taken: contract.TakenJob, signal: AbortSignal): Promise<Outcome> {
  try {
    const entry = handlers.get(taken.queue);
    if (!entry) return { outcome: "released" };
    const payload = entry.schema ? await parsePayload(entry.schema, taken.payload) : taken.payload;
    const result = await entry.handler(workerJob(taken, payload, signal, logger));
    return { outcome: "completed", ...jsonResult(result) };
  } catch (error) {
    // A job that was stopped in its middle has not failed.
    if (isShutdown(signal.reason)) return { outcome: "released" };
    return { outcome: "failed", error: messageOf(error), ...retryOf(error) };
  }
}

const isShutdown = (reason: unknown): boolean => reason instanceof JobAbortedError && reason.why === "shutdown";

/** @throws {NonRetryableError} for what has no JSON, since the job would return the same again */
function jsonResult(result: unknown): { result?: unknown } {
  if (result === undefined) return {};
  try {
    const text = JSON.stringify(result);
    return text === undefined ? {} : { result };
  } catch (error) {
    throw new NonRetryableError(`The handler's result has no JSON: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (text || "The handler threw nothing.").slice(0, MAX_ERROR).toWellFormed();
}

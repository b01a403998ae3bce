import type * as contract from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { parsePayload } from "../schema.ts";
import { stackText } from "../stack-text.ts";
import { thrownText } from "../thrown-text.ts";
import { JobAbortedError } from "./errors.ts";
import { workerJob } from "./job.ts";
import { jsonOf } from "./json-of.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";
import { retryOf } from "./retry-of.ts";

const NO_TEXT = "The handler threw an object without a text.";

/** Runs the handler of a job. Never rejects. */
export async function runJob(
  { handlers, logger, name: worker }: WorkerSettings,
  taken: contract.TakenJob,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const entry = handlers.get(taken.queue);
    if (!entry) return { outcome: "released" };
    const payload = entry.schema ? await parsePayload(entry.schema, taken.payload) : taken.payload;
    const result = await entry.handler(workerJob(taken, payload, signal, logger));
    return { outcome: "completed", ...jsonResult(result) };
  } catch (error) {
    // A job that was interrupted by a stop has not failed.
    if (isShutdown(signal.reason)) return { outcome: "released" };
    const { id: job, queue, attempt, attempts } = taken;
    logger.warn("An attempt of a job failed.", { worker, queue, job, attempt, attempts, error: stackText(error) });
    return { outcome: "failed", error: messageOf(error), ...retryOf(error) };
  }
}

const isShutdown = (reason: unknown): boolean => reason instanceof JobAbortedError && reason.why === "shutdown";

/** @throws {NonRetryableError} for a value without JSON */
function jsonResult(result: unknown): { result?: string } {
  const text = jsonOf(result, "The handler's result");
  return text === undefined ? {} : { result: text };
}

/** The text of what was thrown, without characters that the service does not store. */
function messageOf(error: unknown): string {
  const text = textOf(error).slice(0, LIMITS.workerErrorLength).toWellFormed().replaceAll("\0", "\ufffd");
  return text || "The handler threw an empty text.";
}

function textOf(error: unknown): string {
  try {
    if (error instanceof Error) return `${error.name}: ${error.message}`;
  } catch {
    return NO_TEXT;
  }
  return thrownText(error) ?? NO_TEXT;
}

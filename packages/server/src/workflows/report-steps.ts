import { LIMITS, type ReportedStep } from "@tidemill/contract";
import type { RawJson } from "#http";
import type { NamedClaim } from "#jobs";
import { type Db, invalid, problem, type Transactional, type UuidSource, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { beginWaits } from "./begin-waits.ts";
import { beginCalls, readCall } from "./calls/index.ts";
import { insertSteps, lockExecution, type StepToInsert } from "./execution-store.ts";
import type { RunRedactor } from "./redact-steps.ts";
import type { RunKey } from "./run.ts";

/** Checks that a token proves the execution of a run. Null: it does not. */
export type ProveExecution = (
  db: Db,
  workspaceId: WorkspaceId,
  execution: { readonly id: string; readonly lease_token: string },
) => Promise<NamedClaim | null>;

/** The same for a report, with what takes the secrets of the run's input out of it. */
export type ProveReport = (
  ...of: Parameters<ProveExecution>
) => Promise<{ readonly claim: NamedClaim; readonly redactor: RunRedactor | null } | null>;

/**
 * Stores steps of a run that a worker executes (I8). Steps that the journal has are left as they are.
 *
 * @returns how many steps the journal has, and the lane in which calls of steps wait; null, and nothing is stored, if the claim no longer holds
 */
export const reportSteps = (
  database: Transactional,
  ids: UuidSource,
  key: RunKey,
  claim: NamedClaim,
  reported: readonly StepToInsert[],
): Promise<{ steps: number; lane: LaneKey | null } | null> =>
  database.transaction(async (tx) => {
    if (!(await lockExecution(tx, key, claim))) return null;
    const { steps, lane } = await beginCalls(tx, ids, key, await beginWaits(tx, key, reported));
    return { steps: await insertSteps(tx, key, steps), lane };
  });

/**
 * Reported steps as they are stored.
 *
 * @param path of the list in the body
 * @throws VALIDATION_ERROR for fields that do not go together, PAYLOAD_TOO_LARGE for an output
 */
export const readSteps = (steps: readonly ReportedStep[], path: string): StepToInsert[] =>
  steps.map((step, at) => {
    const misfit = misfitOf(step);
    if (misfit) throw invalid(`${path}[${at}].${misfit.field}`, misfit.message);
    const { key, type, status, error, attempt = 1, startedAt = null, sleepFor, sleepUntil = null, signal = null, timeout, http } = step;
    return {
      key,
      type,
      status,
      output: status === "completed" ? outputOf(step.output) : null,
      error: error ? JSON.stringify(error) : null,
      attempt,
      startedAt: startedAt as StepToInsert["startedAt"],
      wakeAt: sleepUntil as StepToInsert["wakeAt"],
      wakeInMs: sleepFor ?? timeout ?? null,
      signal,
      ...(http && { call: readCall(http, `${path}[${at}].http`) }),
    };
  });

function outputOf(output: unknown): string {
  const text = (output as RawJson | undefined)?.text ?? JSON.stringify(output ?? null);
  if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes });
  return text;
}

/** A field that a step must not or must have, in words. */
function misfitOf({
  type,
  status,
  output,
  error,
  sleepFor,
  sleepUntil,
  signal,
  timeout,
  http,
}: ReportedStep): { field: string; message: string } | null {
  const sleeps = Number(sleepFor !== undefined) + Number(sleepUntil !== undefined);
  if (type === "sleep" && status !== "waiting") return { field: "status", message: "must be waiting for a sleep: the service ends it" };
  if (type === "event" && status === "completed")
    return { field: "status", message: "must be failed for an event: the service stores one that it sends" };
  if (type === "wait" && status !== "waiting") return { field: "status", message: "must be waiting for a wait: the service ends it" };
  if (type === "wait" && signal === undefined) return { field: "signal", message: "must be given for a wait" };
  if (type === "wait" && timeout === undefined) return { field: "timeout", message: "must be given for a wait" };
  if (type !== "wait" && signal !== undefined) return { field: "signal", message: "is only for waits" };
  if (type !== "wait" && timeout !== undefined) return { field: "timeout", message: "is only for waits" };
  if (type === "signal" && status === "completed")
    return { field: "status", message: "must be failed for a signal: the service stores one that it registers" };
  if (type === "http" && status !== "waiting") return { field: "status", message: "must be waiting for an http step: the service ends it" };
  if (type === "http" && http === undefined) return { field: "http", message: "must be given for an http step" };
  if (type !== "http" && http !== undefined) return { field: "http", message: "is only for http steps" };
  if (type !== "sleep" && type !== "wait" && type !== "http" && status === "waiting")
    return { field: "status", message: `must not be waiting for a step of the type ${type}` };
  if (type === "sleep" && sleeps !== 1) return { field: "sleepFor", message: "must be given for a sleep, or sleepUntil in its place" };
  if (type !== "sleep" && sleeps > 0) return { field: "sleepFor", message: "is only for sleeps" };
  if (status === "failed" && !error) return { field: "error", message: "must be given for a failed step" };
  if (status !== "failed" && error) return { field: "error", message: "is only for failed steps" };
  if (status !== "completed" && output !== undefined) return { field: "output", message: "is only for completed steps" };
  return null;
}

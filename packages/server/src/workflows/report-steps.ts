import { LIMITS, type ReportedStep } from "@tidemill/contract";
import type { RawJson } from "#http";
import type { NamedClaim } from "#jobs";
import { type Db, invalid, problem, type Transactional, type WorkspaceId } from "#kernel";
import { beginWaits } from "./begin-waits.ts";
import { insertSteps, lockExecution, type StepToInsert } from "./execution-store.ts";
import type { RunKey } from "./run.ts";
import { isUndoKey } from "./undo/key.ts";

/** Checks that a token proves the execution of a run. Null: it does not. */
export type ProveExecution = (
  db: Db,
  workspaceId: WorkspaceId,
  execution: { readonly id: string; readonly lease_token: string },
) => Promise<NamedClaim | null>;

/**
 * Stores steps of a run that a worker executes (I8). Steps that the journal has are left as they are.
 *
 * @returns how many steps the journal has; null, and nothing is stored, if the claim no longer holds
 */
export const reportSteps = (
  database: Transactional,
  key: RunKey,
  claim: NamedClaim,
  steps: readonly StepToInsert[],
): Promise<number | null> =>
  database.transaction(async (tx) =>
    (await lockExecution(tx, key, claim)) ? insertSteps(tx, key, await beginWaits(tx, key, steps)) : null,
  );

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
    const {
      key,
      type,
      status,
      error,
      attempt = 1,
      startedAt = null,
      sleepFor,
      sleepUntil = null,
      signal = null,
      timeout,
      undoable = false,
    } = step;
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
      undoable,
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
  undoable,
  key,
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
  if (type !== "sleep" && type !== "wait" && status === "waiting")
    return { field: "status", message: `must not be waiting for a step of the type ${type}` };
  if (type === "sleep" && sleeps !== 1) return { field: "sleepFor", message: "must be given for a sleep, or sleepUntil in its place" };
  if (type !== "sleep" && sleeps > 0) return { field: "sleepFor", message: "is only for sleeps" };
  if (type === "undo" && !isUndoKey(key)) return { field: "key", message: "must be undo(…), with the key of the step that is undone" };
  if (undoable && (type !== "run" || status !== "completed"))
    return { field: "undoable", message: "is only for completed steps of the type run" };
  if (status === "failed" && !error) return { field: "error", message: "must be given for a failed step" };
  if (status !== "failed" && error) return { field: "error", message: "is only for failed steps" };
  if (status !== "completed" && output !== undefined) return { field: "output", message: "is only for completed steps" };
  return null;
}

import { isUndoKey, LIMITS, ReportedError, type ReportedStep, UNDO_BEGUN } from "@tidemill/contract";
import { compileCheck, type Principal, RawJson } from "#http";
import type { NamedClaim } from "#jobs";
import { type Db, invalid, problem, type Transactional, type UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import type { TextRedactor } from "#redaction";
import { beginCalls, readCall } from "../calls/index.ts";
import { lockExecution } from "../executions/execution-store.ts";
import type { RunKey } from "../runs/run.ts";
import { MAX_UNDOABLE_KEY_LENGTH, RESERVED_KEY } from "../undo/key.ts";
import { beginWaits, changeWaits } from "./begin-waits.ts";
import { insertStepsAcrossWorkspaces, type StepToInsert } from "./step-store.ts";
import type { StepWriter } from "./step-writer.ts";
import { journalTooLarge } from "./store-step.ts";
import { findReady } from "./wait-store.ts";

/** Verifies the token of a run's execution, and that the caller may serve the run's workflow. Null: one of them is not the case. */
export type VerifyExecution = (
  db: Db,
  principal: Principal,
  execution: { readonly id: string; readonly lease_token: string },
) => Promise<NamedClaim | null>;

/** The same for a report, with the redactor that removes the secrets of the run's input from it. */
export type VerifyReport = (...of: Parameters<VerifyExecution>) => Promise<VerifiedReport | null>;

export interface VerifiedReport {
  readonly claim: NamedClaim;
  readonly redactor: TextRedactor | null;
}

/**
 * Stores steps of a run that a worker executes (I8). Steps that the journal has are left as they are. For a run that has ended, only undos
 * are stored.
 *
 * @returns how many steps the journal has, which waits have their outcome, and the lane in which calls of steps wait; null if the claim no
 *   longer holds: then nothing is stored
 */
export async function reportSteps(
  writer: StepWriter,
  database: Transactional,
  ids: UuidSource,
  key: RunKey,
  claim: NamedClaim,
  steps: readonly StepToInsert[],
): Promise<StepsReported | null> {
  if (!changeWaits(steps)) {
    const stored = await writer.add({ ...key, claim, steps });
    return stored === null ? null : { steps: stored, ready: [], lane: null };
  }
  return database.transaction(async (tx) => {
    if (!(await lockExecution(tx, key, claim))) return null;
    const { reports, lanes } = await beginCalls(tx, ids, await beginWaits(tx, [{ ...key, claim: null, steps }]));
    const stored = (await insertStepsAcrossWorkspaces(tx, reports)).get(key.id);
    if (stored === null) throw journalTooLarge(steps);
    if (stored === undefined) return null;
    const waits = steps.flatMap((step) => (isNewWait(step) ? [step.key] : []));
    return { steps: stored, ready: waits.length > 0 ? await findReady(tx, key, waits) : [], lane: lanes[0] ?? null };
  });
}

const isNewWait = ({ type, status }: StepToInsert): boolean => type === "wait" && status === "waiting";

/** How many steps a journal has, and the lane in which calls of its steps wait. */
export interface StepsReported {
  readonly steps: number;
  /** Keys of the reported waits that have their outcome already. */
  readonly ready: readonly string[];
  readonly lane: LaneKey | null;
}

/**
 * Reported steps as they are stored.
 *
 * @param path of the list in the body
 * @throws VALIDATION_ERROR for fields that do not go together, PAYLOAD_TOO_LARGE for an output
 */
export const readSteps = (steps: readonly ReportedStep[], path: string): StepToInsert[] =>
  steps.map((step, at) => {
    const invalidField = invalidFieldOf(step);
    if (invalidField) throw invalid(`${path}[${at}].${invalidField.field}`, invalidField.message);
    const { key, type, status, error, attempt = 1, startedAt = null, sleepFor, sleepUntil = null, signal = null, timeout } = step;
    const { http, undoable = false } = step;
    return {
      key,
      type,
      status,
      output: status === "completed" ? outputOf(step, `${path}[${at}].output`) : null,
      error: error ? JSON.stringify({ name: error.name, message: error.message }) : null,
      attempt,
      startedAt: startedAt as StepToInsert["startedAt"],
      wakeAt: sleepUntil as StepToInsert["wakeAt"],
      wakeInMs: sleepFor ?? timeout ?? null,
      signal,
      undoable,
      ...(http && { call: readCall(http, `${path}[${at}].http`) }),
    };
  });

const errorFault = compileCheck(ReportedError);

function outputOf({ key, output }: ReportedStep, path: string): string {
  // Raw text if the steps are the body's own member, parsed if they come with an outcome.
  const text = output instanceof RawJson ? output.text : JSON.stringify(output ?? null);
  const [bytes, limit_bytes] = [Buffer.byteLength(text), LIMITS.payloadBytes];
  if (bytes <= limit_bytes) return key === UNDO_BEGUN ? undoErrorOf(text, path) : text;
  const message = `The output of step ${JSON.stringify(key)} has ${bytes} bytes; the limit is ${limit_bytes} bytes.`;
  throw problem("PAYLOAD_TOO_LARGE", { limit_bytes, path }, { message });
}

/** The error of the run, if it fails. The text as it was written may have a member twice. Only the last one counts. */
function undoErrorOf(text: string, path: string): string {
  const error: unknown = JSON.parse(text);
  if (errorFault(error)) throw invalid(path, "must be the error for which the program undoes its steps");
  const { name, message } = error as ReportedError;
  return JSON.stringify({ name, message });
}

/**
 * The statuses with which a program reports steps of a type. The service ends waits, and stores what it executes. A program may end a sleep
 * itself while it executes other steps.
 */
const STATUSES: Readonly<Record<ReportedStep["type"], readonly ReportedStep["status"][]>> = {
  run: ["completed", "failed"],
  value: ["completed", "failed"],
  event: ["failed"],
  signal: ["failed"],
  sleep: ["waiting", "completed", "cancelled"],
  wait: ["waiting", "cancelled"],
  invoke: ["failed", "cancelled"],
  http: ["waiting", "cancelled"],
  undo: ["completed", "failed"],
};

/** A field that a step must not or must have, in words. */
function invalidFieldOf(step: ReportedStep): { field: string; message: string } | null {
  const { key, type, status, output, error, sleepFor, sleepUntil, signal, timeout, http, undoable } = step;
  const fault = (field: string, message: string) => ({ field, message });
  const waits = (of: string) => type === of && status === "waiting";
  const sleeps = Number(sleepFor !== undefined) + Number(sleepUntil !== undefined);
  if (!STATUSES[type].includes(status)) return fault("status", `must be ${STATUSES[type].join(" or ")} for a step of the type ${type}`);
  if (waits("wait") && signal === undefined) return fault("signal", "must be given for a wait");
  if (waits("wait") && timeout === undefined) return fault("timeout", "must be given for a wait");
  if (!waits("wait") && signal !== undefined) return fault("signal", "is only for waits");
  if (!waits("wait") && timeout !== undefined) return fault("timeout", "is only for waits");
  if (waits("http") && http === undefined) return fault("http", "must be given for an http step");
  if (!waits("http") && http !== undefined) return fault("http", "is only for http steps");
  if (waits("sleep") && sleeps !== 1) return fault("sleepFor", "must be given for a sleep, or sleepUntil in its place");
  if (!waits("sleep") && sleeps > 0) return fault("sleepFor", "is only for sleeps");
  if (type === "undo" && !isUndoKey(key)) return fault("key", "must be undo(…), with the key of the step that is undone");
  if (type !== "undo" && isUndoKey(key)) return fault("key", RESERVED_KEY);
  if (undoable && (type !== "run" || status !== "completed")) return fault("undoable", "is only for completed steps of the type run");
  if (undoable && [...key].length > MAX_UNDOABLE_KEY_LENGTH)
    return fault("key", `must have at most ${MAX_UNDOABLE_KEY_LENGTH} characters for a step that can be undone`);
  if (status === "failed" && !error) return fault("error", "must be given for a failed step");
  if (status !== "failed" && error) return fault("error", "is only for failed steps");
  if (status !== "completed" && output !== undefined) return fault("output", "is only for completed steps");
  return null;
}

import { ERRORS, LIMITS, type Settled, type SettleJob } from "@tidemill/contract";
import type { AttemptResult, Engine } from "#engine";
import type { RawJson } from "#http";
import { findHeld, type NamedClaim } from "#jobs";
import { cut, type Db, type LoopTime, ProblemError, type RunId, type SlicedWork, type WorkspaceId } from "#kernel";
import { keepResult } from "#redaction";
import {
  keepProgress,
  type RunReport,
  readProgress,
  readSteps,
  redactError,
  redactSteps,
  type StepToInsert,
  storeProgress,
} from "#workflows";
import type { HeldJob, HeldJobs, ReportRedactor } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { type Proven, proveClaims } from "./prove-claims.ts";
import type { RedactorOf } from "./redactor-of.ts";
import { type AnsweredOutcome, answerRepeated } from "./settled-before.ts";

export interface SettleJobs {
  readonly finish: Engine["finishForWorker"];
  readonly workers: KnownWorkers;
  readonly held: HeldJobs;
  readonly redactorOf: RedactorOf;
  readonly loopTime: LoopTime;
}

/** Characters of an error's message that are kept. */
const MAX_MESSAGE = 1_000;
const REDACTED = "What the worker reported is left out: it cannot be searched for secrets.";

type Refusal = Pick<Settled, "code" | "message">;
const PROGRESS_TOO_LARGE = `The progress exceeds ${LIMITS.progressBytes} bytes.`;
const LOST: Refusal = { code: "LEASE_LOST", message: ERRORS.LEASE_LOST.message };

/**
 * Settles attempts of workers. Each has its own outcome: one that is wrong or late does not keep the others from being stored.
 *
 * @param mayBeRepeat whether an earlier call may have stored the outcomes
 */
export async function settleJobs(
  deps: SettleJobs,
  db: Db,
  workspaceId: WorkspaceId,
  settles: readonly SettleJob[],
  mayServe: (queue: string) => boolean,
  mayBeRepeat = false,
): Promise<Settled[]> {
  const claims = await proveClaims(deps.workers, db, workspaceId, settles);
  const unknown = claims.flatMap((one) => (one && !isSameClaim(deps.held.get(one.claim.id), one.claim) ? [one.claim] : []));
  const looked = new Map((unknown.length > 0 ? await findHeld(db, workspaceId, unknown) : []).map((row) => [row.id, row]));
  const outcomes = await Promise.all(
    settles.map(async (settle, index): Promise<AnsweredOutcome> => {
      const proof = claims[index] ?? null;
      const refusal = await settleOne(deps, db, settle, proof, mayServe, async ({ claim, worker }) => {
        const held = deps.held.get(claim.id);
        if (held && isSameClaim(held, claim)) return held;
        const row = looked.get(claim.id);
        return row
          ? {
              claim: row,
              response: Symbol(),
              queue: row.queue,
              redactor: (await deps.redactorOf(db, row, row.queue, worker.name)).redactor,
            }
          : null;
      });
      const answer = { id: settle.id, ok: refusal === null, code: refusal?.code ?? null, message: refusal?.message ?? null };
      return { settle, claim: proof, answer };
    }),
  );
  return mayBeRepeat ? answerRepeated(db, workspaceId, outcomes, mayServe) : outcomes.map(({ answer }) => answer);
}

/** Whether what is known of a job is of this claim. */
export const isSameClaim = (held: HeldJob | undefined, { laneId, leaseId, attempt }: NamedClaim): boolean =>
  held?.claim.laneId === laneId && held.claim.leaseId === leaseId && held.claim.attempt === attempt;

async function settleOne(
  { finish, held, loopTime }: SettleJobs,
  db: Db,
  settle: SettleJob,
  claim: Proven | null,
  mayServe: (queue: string) => boolean,
  heldOf: (claim: Proven) => Promise<HeldJob | null>,
): Promise<Refusal | null> {
  const misfit = misfitOf(settle);
  if (misfit) return { code: "VALIDATION_ERROR", message: misfit };
  const steps = stepsOf(settle);
  if ("code" in steps) return steps;
  const text = (settle.result as RawJson | undefined)?.text;
  if (text !== undefined && Buffer.byteLength(text) > LIMITS.resultBytes) {
    return { code: "PAYLOAD_TOO_LARGE", message: `The result exceeds ${LIMITS.resultBytes} bytes.` };
  }
  const progress = progressOf(settle);
  if ("code" in progress) return progress;
  const job = claim && (await heldOf(claim));
  if (!claim || !job || !mayServe(job.queue)) return LOST;
  const unfit = unfitFor(job.claim, settle);
  if (unfit) return { code: "VALIDATION_ERROR", message: unfit };
  const { workspaceId } = job.claim;
  const cost = job.redactor ? Number.POSITIVE_INFINITY : 0;
  const said = progress.text && (await loopTime.run(workspaceId, cost, keepProgress(progress.text, job.redactor)));
  const reported = { result: text ?? null, steps: steps.steps, progress: said };
  const result = await loopTime.run(workspaceId, cost, resultOf(settle, reported, job.redactor));
  // A run that is given back has no report.
  if (said && settle.outcome === "released")
    await storeProgress(db, { workspaceId, id: claim.claim.id as string as RunId }, claim.claim, said);
  const wasHeld = await finish({ claim: job.claim, result, worker: claim.worker.name });
  held.delete(job.claim.id);
  claim.worker.cancelled.delete(settle.id);
  return wasHeld ? null : LOST;
}

const FIELDS: Readonly<Record<SettleJob["outcome"], readonly string[]>> = {
  completed: ["result", "steps", "progress"],
  failed: ["error", "error_name", "retry", "retry_in", "retry_steps", "steps", "progress"],
  suspended: ["steps", "progress"],
  released: ["retry_in", "progress"],
};

const isRunId = (id: string): boolean => id.startsWith("run_");
/** How the ids of a kind begin. */
const PREFIXES: Readonly<Record<string, string>> = { run: "run_", undo: "run_", hook: "hook_" };

/** What is only for runs, and was reported of a job, in words. */
function unfitFor({ kind }: HeldJob["claim"], { id, outcome, error_name, steps, retry_steps, progress }: SettleJob): string | null {
  if (!id.startsWith(PREFIXES[kind] ?? "job_")) return LOST.message;
  if (kind === "run") return null;
  if (outcome === "suspended") return "The outcome suspended is only for runs that have not ended.";
  if (kind === "undo") return steps?.every(({ type }) => type === "undo") === false ? "steps may only be undos: the run has ended." : null;
  if (progress !== undefined) return "progress is only for runs.";
  if (steps !== undefined) return "steps is only for runs.";
  if (retry_steps !== undefined) return "retry_steps is only for runs.";
  return error_name === undefined ? null : "error_name is only for runs.";
}

/** A field that the outcome does not go with, in words. */
function misfitOf({ outcome, result, error, error_name, retry, retry_in, retry_steps, steps, progress }: SettleJob): string | null {
  const given = { result, error, error_name, retry, retry_in, retry_steps, steps, progress };
  const allowed = FIELDS[outcome];
  const [extra] = Object.entries(given).filter(([name, value]) => value !== undefined && !allowed.includes(name));
  return extra ? `${extra[0]} is not allowed with the outcome "${outcome}".` : null;
}

/** The reported steps as they are stored, or why the outcome is refused. Those that wait are only for a run that is suspended. */
function stepsOf({ outcome, steps = [] }: SettleJob): { readonly steps: readonly StepToInsert[] } | Refusal {
  const waiting = outcome === "suspended" ? -1 : steps.findIndex(({ status }) => status === "waiting");
  if (waiting >= 0)
    return { code: "VALIDATION_ERROR", message: `steps[${waiting}].status must not be waiting with the outcome "${outcome}".` };
  try {
    return { steps: readSteps(steps, "steps") };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { code: error.code as Refusal["code"], message: error.message };
  }
}

/** What a program says of a run's progress, as JSON text, or why that is refused. */
function progressOf({ progress }: SettleJob): { readonly text: string | null } | Refusal {
  try {
    return { text: progress === undefined ? null : readProgress(progress) };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code, message } = error;
    return { code: code as Refusal["code"], message: code === "PAYLOAD_TOO_LARGE" ? PROGRESS_TOO_LARGE : message };
  }
}

/** What is stored of an outcome: JSON texts and steps. The progress is without secrets. */
interface Reported {
  readonly result: string | null;
  readonly steps: readonly StepToInsert[];
  readonly progress: string | null;
}

function* resultOf(
  { id, outcome, error, error_name = "Error", retry, retry_in, retry_steps }: SettleJob,
  { result, steps: reported, progress }: Reported,
  redactor: ReportRedactor | null,
): SlicedWork<AttemptResult> {
  const said = progress !== null && { progress };
  const reportOf = (report: RunReport) => isRunId(id) && { report: JSON.stringify({ ...report, ...said }) };
  if (outcome === "released") return retry_in ? { kind: "postponed", waitMs: retry_in * 1_000 } : { kind: "withdrawn" };
  const steps = yield* redactSteps(reported, redactor);
  if (outcome === "suspended") return { kind: "suspended", report: JSON.stringify({ steps, ...said } satisfies RunReport) };
  if (outcome === "completed") {
    const kept = result === null ? null : yield* keepResult(result, redactor);
    return { kind: "accepted", status: null, result: kept, ...reportOf({ steps }) };
  }
  const message = error ?? "The worker reported no error.";
  const kept = redactor ? ((yield* redactor.text(message)) ?? REDACTED) : message;
  return {
    kind: "workerFailed",
    code: "WORKER_FAILED",
    message: cut(kept, MAX_MESSAGE),
    retryAfterSeconds: retry_in ?? null,
    forGood: retry === false,
    ...reportOf({
      steps,
      error: yield* redactError({ name: error_name, message }, redactor),
      ...(retry_steps && { retrySteps: retry_steps }),
    }),
  };
}

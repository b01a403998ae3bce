import { ERRORS, LIMITS, type Settled, type SettleJob } from "@tidemill/contract";
import type { AttemptResult, Engine } from "#engine";
import type { RawJson } from "#http";
import { findHeld, type NamedClaim } from "#jobs";
import { cut, type Db, type LoopTime, ProblemError, type RunId, type SlicedWork, type WorkspaceId } from "#kernel";
import { keepResult } from "#redaction";
import { readProgress, readSteps, storeProgress } from "#workflows";
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
const TOO_LARGE = `The progress exceeds ${LIMITS.progressBytes} bytes.`;
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
  const unknown = claims.flatMap((one) => (one && !isKnown(deps.held.get(one.claim.id), one.claim) ? [one.claim] : []));
  const looked = new Map((unknown.length > 0 ? await findHeld(db, workspaceId, unknown) : []).map((row) => [row.id, row]));
  const outcomes = await Promise.all(
    settles.map(async (settle, index): Promise<AnsweredOutcome> => {
      const proof = claims[index] ?? null;
      const refusal = await settleOne(deps, db, settle, proof, mayServe, async ({ claim, worker }) => {
        const held = deps.held.get(claim.id);
        if (held && isKnown(held, claim)) return held;
        const row = looked.get(claim.id);
        return row
          ? { claim: row, response: Symbol(), queue: row.queue, redactor: await deps.redactorOf(row, row.queue, worker.name) }
          : null;
      });
      const answer = { id: settle.id, ok: refusal === null, code: refusal?.code ?? null, message: refusal?.message ?? null };
      return { settle, claim: proof, answer };
    }),
  );
  return mayBeRepeat ? answerRepeated(db, workspaceId, outcomes, mayServe) : outcomes.map(({ answer }) => answer);
}

const isKnown = (held: HeldJob | undefined, { laneId, leaseId, attempt }: NamedClaim): boolean =>
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
  const text = (settle.result as RawJson | undefined)?.text;
  if (text !== undefined && Buffer.byteLength(text) > LIMITS.resultBytes) {
    return { code: "PAYLOAD_TOO_LARGE", message: `The result exceeds ${LIMITS.resultBytes} bytes.` };
  }
  const progress = progressOf(settle);
  if (progress.refusal) return progress.refusal;
  const job = claim && (await heldOf(claim));
  if (!claim || !job || !mayServe(job.queue)) return LOST;
  const unfit = unfitFor(job.claim, settle);
  if (unfit) return { code: "VALIDATION_ERROR", message: unfit };
  const { workspaceId } = job.claim;
  const cost = job.redactor ? Number.POSITIVE_INFINITY : 0;
  const result = await loopTime.run(workspaceId, cost, resultOf(settle, text ?? null, job.redactor));
  const said = progress.text && (await loopTime.run(workspaceId, cost, keepResult(progress.text, job.redactor)));
  if (said) await storeProgress(db, { workspaceId, id: claim.claim.id as string as RunId }, claim.claim, said);
  const wasHeld = await finish({ claim: job.claim, result, worker: claim.worker.name });
  held.delete(job.claim.id);
  claim.worker.cancelled.delete(settle.id);
  return wasHeld ? null : LOST;
}

const FIELDS: Readonly<Record<SettleJob["outcome"], readonly string[]>> = {
  completed: ["result", "progress"],
  failed: ["error", "error_name", "retry", "retry_in", "progress"],
  suspended: ["steps", "progress"],
  released: ["progress"],
};

const isRunId = (id: string): boolean => id.startsWith("run_");
/** How the ids of a kind begin. */
const PREFIXES: Readonly<Record<string, string>> = { run: "run_", undo: "run_", hook: "hook_" };

/** What is only for runs, and was reported of a job, in words. */
function unfitFor({ kind }: HeldJob["claim"], { id, outcome, error_name, progress }: SettleJob): string | null {
  if (!id.startsWith(PREFIXES[kind] ?? "job_")) return LOST.message;
  if (kind === "run") return null;
  if (outcome === "suspended") return "The outcome suspended is only for runs.";
  if (kind === "undo") return null;
  if (progress !== undefined) return "progress is only for runs.";
  return error_name === undefined ? null : "error_name is only for runs.";
}

/** What a program says of a run's progress, as JSON text, or why that is refused. */
function progressOf({ progress }: SettleJob): { text: string | null; refusal: Refusal | null } {
  try {
    return { text: progress === undefined ? null : readProgress(progress), refusal: null };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code, message } = error;
    return { text: null, refusal: { code: code as Refusal["code"], message: code === "PAYLOAD_TOO_LARGE" ? TOO_LARGE : message } };
  }
}

/** A field that the outcome does not go with, in words. */
function misfitOf({ outcome, result, error, error_name, retry, retry_in, steps, progress }: SettleJob): string | null {
  const given = { result, error, error_name, retry, retry_in, steps, progress };
  const allowed = FIELDS[outcome];
  const [extra] = Object.entries(given).filter(([name, value]) => value !== undefined && !allowed.includes(name));
  return extra ? `${extra[0]} is not allowed with the outcome "${outcome}".` : null;
}

function* resultOf(
  { id, outcome, error, error_name = "Error", retry, retry_in, steps = [] }: SettleJob,
  result: string | null,
  redactor: ReportRedactor | null,
): SlicedWork<AttemptResult> {
  if (outcome === "released") return { kind: "withdrawn" };
  if (outcome === "suspended") return { kind: "suspended", report: JSON.stringify({ outcome, steps: readSteps(steps, "steps") }) };
  if (outcome === "completed")
    return { kind: "accepted", status: null, result: result === null ? null : yield* keepResult(result, redactor) };
  const message = error ?? "The worker reported no error.";
  const kept = redactor ? ((yield* redactor.text(message)) ?? REDACTED) : message;
  return {
    kind: "workerFailed",
    code: "WORKER_FAILED",
    message: cut(kept, MAX_MESSAGE),
    retryAfterSeconds: retry_in ?? null,
    forGood: retry === false,
    ...(isRunId(id) && { report: JSON.stringify({ outcome, error: { name: error_name, message } }) }),
  };
}

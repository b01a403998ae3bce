import { ERRORS, type Settled, type SettleJob } from "@tidemill/contract";
import type { AttemptResult, Engine } from "#engine";
import { findHeld, type NamedClaim } from "#jobs";
import { type Db, type EmitEvent, type LoopTime, ProblemError, type RunId, type WorkspaceId } from "#kernel";
import { keepProgress, storeProgress } from "#workflows";
import type { HeldJob, HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { misfitOf, type Reported, readOutcome, readReported, resultText, tooLarge } from "./outcome.ts";
import { type Proven, proveClaims } from "./prove-claims.ts";
import type { RedactorOf } from "./redactor-of.ts";
import type { MayServe } from "./served-claims.ts";
import { type AnsweredOutcome, answerRepeated } from "./settled-before.ts";

export interface SettleJobs {
  readonly finish: Engine["finishForWorker"];
  readonly workers: KnownWorkers;
  readonly held: HeldJobs;
  readonly emit: EmitEvent;
  readonly redactorOf: RedactorOf;
  readonly loopTime: LoopTime;
}

type Refusal = Pick<Settled, "code" | "message">;
const LOST: Refusal = { code: "LEASE_LOST", message: ERRORS.LEASE_LOST.message };

/** The call that reports outcomes. */
interface SettleCall {
  /** Whether an earlier call may have stored the outcomes. */
  readonly mayBeRepeat?: boolean;
  /** Version of the worker's code. */
  readonly version?: string | null;
}

/**
 * Settles attempts of workers. Each has its own outcome: one that is wrong or late does not keep the others from being stored.
 *
 */
export async function settleJobs(
  deps: SettleJobs,
  db: Db,
  workspaceId: WorkspaceId,
  settles: readonly SettleJob[],
  mayServe: MayServe,
  { mayBeRepeat = false, version = null }: SettleCall = {},
): Promise<Settled[]> {
  const claims = await proveClaims(deps.workers, db, workspaceId, settles);
  const unknown = claims.flatMap((one) => (one && !isSameClaim(deps.held.get(one.claim.id), one.claim) ? [one.claim] : []));
  const looked = new Map((unknown.length > 0 ? await findHeld(db, workspaceId, unknown) : []).map((row) => [row.id, row]));
  const outcomes = await Promise.all(
    settles.map(async (settle, index): Promise<AnsweredOutcome> => {
      const proof = claims[index] ?? null;
      const refusal = await settleOne(deps, db, settle, version, proof, mayServe, async ({ claim, worker }) => {
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
  { finish, held, emit, loopTime }: SettleJobs,
  db: Db,
  settle: SettleJob,
  version: string | null,
  claim: Proven | null,
  mayServe: MayServe,
  heldOf: (claim: Proven) => Promise<HeldJob | null>,
): Promise<Refusal | null> {
  const misfit = misfitOf(settle);
  if (misfit) return { code: "VALIDATION_ERROR", message: misfit };
  const reported = reportedBy(settle);
  if ("code" in reported) return reported;
  const oversize = tooLarge(settle.id.startsWith("run_") ? "run" : "job", resultText(settle));
  if (oversize) return { code: "PAYLOAD_TOO_LARGE", message: oversize };
  const job = claim && (await heldOf(claim));
  if (!claim || !job || !mayServe(job.claim, job.queue)) return LOST;
  const unfit = unfitFor(job.claim, settle);
  if (unfit) return { code: "VALIDATION_ERROR", message: unfit };
  const { workspaceId } = job.claim;
  const cost = job.redactor ? Number.POSITIVE_INFINITY : 0;
  let result: AttemptResult;
  try {
    result = await loopTime.run(workspaceId, cost, readOutcome(job.claim.kind, settle, reported, { redactor: job.redactor, version }));
  } catch (error) {
    return refusalOf(error);
  }
  // A run that is given back has no report.
  if (reported.progress !== null && settle.outcome === "released") {
    const said = await loopTime.run(workspaceId, cost, keepProgress(reported.progress, job.redactor));
    if (said) await storeProgress(db, { workspaceId, id: claim.claim.id as string as RunId }, claim.claim, said);
  }
  const wasHeld = await finish({ claim: job.claim, result, worker: claim.worker.name });
  held.delete(job.claim.id);
  claim.worker.cancelled.delete(settle.id);
  if (wasHeld && settle.outcome === "unfit")
    emit("run_journal_rejected", { runId: settle.id, workflow: job.queue, step: settle.step ?? "", version });
  return wasHeld ? null : LOST;
}

/** How the ids of a kind begin. */
const PREFIXES: Readonly<Record<string, string>> = { run: "run_", undo: "run_", hook: "hook_" };

/** What is only for runs, and was reported of a job, in words. */
function unfitFor({ kind }: HeldJob["claim"], { id, outcome, error_name, steps, retry_steps, progress }: SettleJob): string | null {
  if (!id.startsWith(PREFIXES[kind] ?? "job_")) return LOST.message;
  if (kind === "run") return null;
  if (outcome === "suspended" || outcome === "unfit") return `The outcome ${outcome} is only for runs that have not ended.`;
  if (kind === "undo") return steps?.every(({ type }) => type === "undo") === false ? "steps may only be undos: the run has ended." : null;
  if (progress !== undefined) return "progress is only for runs.";
  if (steps !== undefined) return "steps is only for runs.";
  if (retry_steps !== undefined) return "retry_steps is only for runs.";
  return error_name === undefined ? null : "error_name is only for runs.";
}

/** What is reported beside the outcome, as it is stored, or why the outcome is refused. */
function reportedBy(settle: SettleJob): Reported | Refusal {
  try {
    return readReported(settle);
  } catch (error) {
    return refusalOf(error);
  }
}

/** A problem of one outcome, which is no problem of the others. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ProblemError)) throw error;
  return { code: error.code as Refusal["code"], message: error.message };
}

import { ERRORS, type Settled, type SettleJob } from "@tidemill/contract";
import type { AttemptResult, Engine } from "#engine";
import { type FoundClaim, findHeld, type NamedClaim } from "#jobs";
import { type Db, type EmitEvent, type LoopTime, ProblemError, type RunId, type WorkspaceId } from "#kernel";
import { callCharacters, keepProgress, type RunReport, storeProgress } from "#workflows";
import type { HeldJob, HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { invalidFieldOf, type Reported, readOutcome, readReported, resultText, tooLarge } from "./outcome.ts";
import type { RedactorOf } from "./redactor-of.ts";
import type { MayServe } from "./served-claims.ts";
import { type AnsweredOutcome, answerRepeated } from "./settled-before.ts";
import { type VerifiedClaim, verifyLeaseTokens } from "./verify-lease-tokens.ts";

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

/** An outcome that may be stored. */
interface Readied {
  readonly settle: SettleJob;
  readonly job: HeldJob;
  readonly claim: VerifiedClaim;
  readonly result: AttemptResult;
}

type Read = Refusal | Readied;

/**
 * Settles attempts of workers. Each has its own outcome: one that is wrong or late does not keep the others from being stored. Those that
 * are ready immediately (almost all) are stored together. An outcome that is searched for secrets, or whose claim is looked up, is stored
 * when it is ready.
 */
export async function settleJobs(
  deps: SettleJobs,
  db: Db,
  workspaceId: WorkspaceId,
  settles: readonly SettleJob[],
  mayServe: MayServe,
  { mayBeRepeat = false, version = null }: SettleCall = {},
): Promise<Settled[]> {
  if (settles.length === 0) return [];
  const claims = await verifyLeaseTokens(deps.workers, db, workspaceId, settles);
  const held = claims.map((one) => (one ? heldFor(deps, one.claim) : null));
  const unknown = claims.flatMap((one, index) => (one && !held[index] ? [one.claim] : []));
  const looked = new Map((unknown.length > 0 ? await findHeld(db, workspaceId, unknown) : []).map((row) => [row.id, row]));
  const refusals: (Refusal | null)[] = settles.map(() => null);
  const ready: number[] = [];
  const readied: Readied[] = [];
  const later: Promise<void>[] = [];
  for (const [index, settle] of settles.entries()) {
    const claim = claims[index] ?? null;
    const heldOf = () => {
      const row = claim && !held[index] ? looked.get(claim.claim.id) : undefined;
      return row && claim && mayServe(row, row.queue) ? lookedUp(deps, db, row, claim) : (held[index] ?? null);
    };
    const read = readSettle(deps, db, { settle, version, claim, mayServe }, heldOf);
    if (read instanceof Promise) {
      const storing = async () => {
        refusals[index] = await storeOne(deps, await read, version);
      };
      later.push(storing());
    } else if ("result" in read) {
      ready.push(index);
      readied.push(read);
    } else refusals[index] = read;
  }
  const storing = store(deps, readied, version);
  // If one of them fails, the worker repeats the call: by then the others must be stored.
  await Promise.allSettled([storing, ...later]);
  const [stored] = await Promise.all([storing, ...later]);
  for (const [place, index] of ready.entries()) refusals[index] = stored[place] ?? null;
  const outcomes = settles.map((settle, index): AnsweredOutcome => {
    const refusal = refusals[index] ?? null;
    const answer = { id: settle.id, ok: refusal === null, code: refusal?.code ?? null, message: refusal?.message ?? null };
    return { settle, claim: claims[index] ?? null, answer };
  });
  return mayBeRepeat ? answerRepeated(db, workspaceId, outcomes, mayServe) : outcomes.map(({ answer }) => answer);
}

/** What this node remembers of a claim. */
const heldFor = ({ held }: Pick<SettleJobs, "held">, claim: NamedClaim): HeldJob | null => {
  const job = held.get(claim.id);
  return job && isSameClaim(job, claim) ? job : null;
};

/**
 * A claim that this node does not remember, as the database has it. Null: a run whose secrets are no longer known. It is released without
 * an attempt, to be executed again.
 */
async function lookedUp({ redactorOf, finish }: SettleJobs, db: Db, row: FoundClaim, { worker }: VerifiedClaim): Promise<HeldJob | null> {
  const found = await redactorOf(db, row, row.queue, worker.name);
  if (found) return { claim: row, response: Symbol(), queue: row.queue, redactor: found.redactor };
  await finish([{ claim: row, result: { kind: "withdrawn" }, worker: worker.name }]);
  return null;
}

/** Whether what is known about a job belongs to this claim. */
export const isSameClaim = (held: HeldJob | undefined, { laneId, leaseId, attempt }: NamedClaim): boolean =>
  held?.claim.laneId === laneId && held.claim.leaseId === leaseId && held.claim.attempt === attempt;

/** An outcome, and who reports it. */
interface Reporting {
  readonly settle: SettleJob;
  readonly version: string | null;
  readonly claim: VerifiedClaim | null;
  readonly mayServe: MayServe;
}

/** Reads an outcome. The job is null if the lease is lost. */
function readSettle(
  deps: SettleJobs,
  db: Db,
  reporting: Reporting,
  heldOf: () => HeldJob | null | Promise<HeldJob | null>,
): Read | Promise<Read> {
  const { settle } = reporting;
  const invalidField = invalidFieldOf(settle);
  if (invalidField) return { code: "VALIDATION_ERROR", message: invalidField };
  const reported = reportedBy(settle);
  if ("code" in reported) return reported;
  const oversize = tooLarge(settle.id.startsWith("run_") ? "run" : "job", resultText(settle));
  if (oversize) return { code: "PAYLOAD_TOO_LARGE", message: oversize };
  const read = (one: HeldJob | null) => readOf(deps, db, reporting, reported, one);
  const job = heldOf();
  // Secrets that may be in it cannot be read at the moment.
  return job instanceof Promise ? job.then(read, refusalOf) : read(job);
}

function readOf(
  { loopTime }: SettleJobs,
  db: Db,
  { settle, version, claim, mayServe }: Reporting,
  reported: Reported,
  job: HeldJob | null,
): Read | Promise<Read> {
  if (!claim || !job || !mayServe(job.claim, job.queue)) return LOST;
  const notAllowed = notAllowedFor(job.claim, settle);
  if (notAllowed) return { code: "VALIDATION_ERROR", message: notAllowed };
  const { workspaceId } = job.claim;
  const cost = job.redactor ? Number.POSITIVE_INFINITY : callCharacters(reported.steps);
  const ready = (result: AttemptResult): Readied => ({ settle, job, claim, result });
  const keepsProgress = reported.progress !== null && settle.outcome === "released";
  const withProgress = async (result: AttemptResult): Promise<Read> => {
    // A run that is released has no report.
    const said = await loopTime.run(workspaceId, cost, keepProgress(reported.progress as string, job.redactor));
    if (said) await storeProgress(db, { workspaceId, id: claim.claim.id as string as RunId }, claim.claim, said);
    return ready(result);
  };
  try {
    const result = loopTime.run(workspaceId, cost, readOutcome(job.claim.kind, settle, reported, { redactor: job.redactor, version }));
    if (result instanceof Promise) return result.then(keepsProgress ? withProgress : ready, refusalOf);
    return keepsProgress ? withProgress(result) : ready(result);
  } catch (error) {
    return refusalOf(error);
  }
}

/** Stores outcomes. Returns for each why it is not stored; null if it is. */
async function store({ finish, held, emit }: SettleJobs, readied: readonly Readied[], version: string | null): Promise<(Refusal | null)[]> {
  if (readied.length === 0) return [];
  const wereHeld = await finish(readied.map(({ job, claim, result }) => ({ claim: job.claim, result, worker: claim.worker.name })));
  return readied.map(({ settle: { id, outcome }, job, claim, result }, index) => {
    held.delete(job.claim.id);
    claim.worker.cancelled.delete(id);
    if (!wereHeld[index]) return LOST;
    if (outcome === "unfit") emit("run_journal_rejected", { runId: id, workflow: job.queue, step: unfitStepOf(result), version });
    return null;
  });
}

/** The step that did not fit, as it is stored. */
const unfitStepOf = (result: AttemptResult): string =>
  result.kind === "suspended" ? ((JSON.parse(result.report) as RunReport).unfit?.step ?? "") : "";

async function storeOne(deps: SettleJobs, read: Read, version: string | null): Promise<Refusal | null> {
  if (!("result" in read)) return read;
  const [refusal = null] = await store(deps, [read], version);
  return refusal;
}

/** How the ids of a kind begin. */
const PREFIXES: Readonly<Record<string, string>> = { run: "run_", undo: "run_", hook: "hook_" };

/** Why a field that only runs may have is not allowed for a job, in words. */
function notAllowedFor({ kind }: HeldJob["claim"], { id, outcome, error_name, steps, retry_steps, progress }: SettleJob): string | null {
  if (!id.startsWith(PREFIXES[kind] ?? "job_")) return LOST.message;
  if (kind === "run") return null;
  if (outcome === "suspended" || outcome === "unfit") return `The outcome ${outcome} is only for runs that have not ended.`;
  if (kind === "undo") return steps?.every(({ type }) => type === "undo") === false ? "steps may only be undos: the run has ended." : null;
  if (progress !== undefined) return "progress is only for runs.";
  if (steps !== undefined) return "steps is only for runs.";
  if (retry_steps !== undefined) return "retry_steps is only for runs.";
  return error_name === undefined ? null : "error_name is only for runs.";
}

/** What is reported together with the outcome, as it is stored, or why the outcome is refused. */
function reportedBy(settle: SettleJob): Reported | Refusal {
  try {
    return readReported(settle);
  } catch (error) {
    return refusalOf(error);
  }
}

/** A problem of one outcome, which does not affect the others. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ProblemError)) throw error;
  return { code: error.code as Refusal["code"], message: error.message };
}

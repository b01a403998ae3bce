import type { AttemptEntry } from "@tidemill/contract";
import type { CircuitEffect, Opening, SpentProbe } from "#circuits";
import { type Claim, logEntry, type NotCompleted } from "#jobs";
import type { Verdict } from "./judge.ts";

/** More about an attempt that ended. */
export interface AttemptFacts {
  readonly tookMs: number;
  readonly circuit?: CircuitEffect;
  /** The worker that held the claim; null or absent for a node. */
  readonly worker?: string | null;
}

/** An attempt that ended, and what happens to its job. */
export interface Ending {
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly facts: AttemptFacts;
}

/** What is written of an attempt that ended. */
export interface Settlement {
  /** The name of its claim. */
  readonly name: string;
  readonly claim: Claim;
  readonly verdict: Verdict;
  readonly circuit: CircuitEffect;
  readonly entry: string;
  /** Whether the caller needs to know if the claim was still valid. */
  readonly isReported: boolean;
  /** Whether attempts of its kind are counted. */
  readonly recorded: boolean;
  /** The database has refused this settlement before, when it was written alone. */
  readonly again?: boolean;
  /** Whether the failed attempt counts, whatever the state of the circuit is when it is written. */
  readonly usesAttempt?: boolean;
  /** Whether the settlement is written without what its kind adds. */
  readonly isBare?: boolean;
  /** An earlier try failed, but may still have stored it. */
  readonly mayBeStored?: boolean;
}

const NO_EFFECT: CircuitEffect = { kind: "none" };

/** @param recorded whether attempts of its kind are counted */
export function settlementOf(
  { claim, verdict, facts: { tookMs, circuit = NO_EFFECT, worker = null } }: Ending,
  recorded: boolean,
): Settlement {
  const entry = logEntry(entryOf(claim, verdict, tookMs, worker));
  return { name: nameOf(claim), claim, verdict, circuit, entry, isReported: worker !== null, recorded };
}

const UNSTORABLE: Verdict = {
  kind: "fail",
  error: { code: "NODE_LOST", message: "The outcome of the attempt could not be stored.", status: null },
};

/** A settlement that the database refuses: its job goes to the dead-letter queue. */
export function unstorable(one: Settlement): Settlement {
  const entry = logEntry(entryOf(one.claim, UNSTORABLE, 0, null));
  return { ...one, verdict: UNSTORABLE, circuit: NO_EFFECT, entry };
}

export const isUnstorable = ({ verdict }: Settlement): boolean => verdict === UNSTORABLE;

/** How much a verdict writes in addition to its job. Characters. */
export const writtenBy = (verdict: Verdict): number =>
  (verdict.kind === "complete" ? (verdict.result?.length ?? 0) : 0) + ("report" in verdict ? (verdict.report?.length ?? 0) : 0);

/** The name of a claim. An attempt of a job has one claim. */
export const nameOf = ({ id, attempt }: Claim): string => `${id}/${attempt}`;

export const keyOf = ({ claim: { workspaceId, laneId, id, leaseId, attempt } }: Settlement) => ({
  workspaceId,
  laneId,
  id,
  leaseId,
  attempt,
});

export const completionOf = (settlement: Settlement) => {
  const { verdict, entry } = settlement;
  return verdict.kind === "complete" ? [{ ...keyOf(settlement), logEntry: entry, result: verdict.result }] : [];
};

export function notCompletedOf(settlement: Settlement): NotCompleted {
  const { verdict, circuit, entry, recorded, usesAttempt } = settlement;
  const common = { ...keyOf(settlement), logEntry: entry, recorded };
  const error = "error" in verdict ? verdict.error : null;
  // A job alone in its lane must also be the next probe: no other job can find out that the endpoint is back.
  const aloneWaitMs = circuit.kind === "probeFails" && "waitMs" in verdict ? Math.min(circuit.probeInMs, verdict.waitMs) : null;
  const columns = { ...common, aloneWaitMs, error: error && JSON.stringify(error), errorCode: error?.code ?? null };
  if (verdict.kind === "defer" || verdict.kind === "release") {
    return { ...columns, to: verdict.waitMs > 0 ? "delayed" : "waiting", waitMs: verdict.waitMs, spared: true };
  }
  const spared = !usesAttempt && (circuit.kind === "fails" || circuit.kind === "opens") ? null : false;
  return verdict.kind === "retry"
    ? { ...columns, to: "delayed", waitMs: verdict.waitMs, spared }
    : { ...columns, to: "failed", waitMs: 0, spared };
}

export function openingOf({ claim, verdict, circuit }: Settlement): Opening[] {
  if (circuit.kind !== "opens" || !("error" in verdict)) return [];
  const { workspaceId, laneId, revision } = claim;
  return [{ workspaceId, laneId, revision, probeInMs: circuit.probeInMs, error: JSON.stringify(verdict.error) }];
}

/** A probe that showed nothing about its endpoint lets another probe start immediately. */
export function spentProbeOf({ claim, verdict, circuit }: Settlement): SpentProbe[] {
  const { workspaceId, laneId } = claim;
  const failed = circuit.kind === "probeFails";
  if (!failed && circuit.kind !== "releasesProbe") return [];
  const error = failed && "error" in verdict ? JSON.stringify(verdict.error) : null;
  return [{ workspaceId, laneId, failed, probeInMs: failed ? circuit.probeInMs : 0, error }];
}

const OUTCOMES = { complete: "completed", retry: "failed", fail: "failed", defer: "failed", release: "released" } as const;

function entryOf(claim: Claim, verdict: Verdict, tookMs: number, worker: string | null): AttemptEntry {
  const error = "error" in verdict ? verdict.error : null;
  return {
    attempt: claim.attempt,
    started_at: claim.startedAt,
    duration_ms: Math.round(tookMs * 100) / 100,
    outcome: OUTCOMES[verdict.kind],
    status: verdict.kind === "complete" ? verdict.status : (error?.status ?? null),
    error,
    worker,
  };
}

import type { Claim } from "#jobs";
import { type Clock, momentMs, type Random } from "#kernel";
import type { LaneId, LaneKey, PulledWaker, Waker } from "#lanes";
import { type AttemptResult, delayOf, judge, mayBeDue } from "./judge.ts";
import type { JobKinds } from "./kinds.ts";
import type { Settler } from "./settle.ts";

export interface WorkerFinish {
  readonly clock: Clock;
  readonly random: Random;
  readonly kinds: JobKinds;
  readonly settler: Settler;
  /** Whether the latest claim from a lane has found limits, which may be newer than the claim that ends. Absent: the claim itself knows. */
  readonly isLimited?: (lane: LaneKey) => boolean;
  readonly waker: Pick<Waker, "wakeAt"> & PulledWaker;
}

/** How an attempt of a worker ended. */
export interface WorkerResult {
  readonly claim: Claim;
  readonly result: AttemptResult;
  readonly worker: string;
}

/** How long the attempt of a claim has taken, up to now. Milliseconds. */
export const tookMsOf = ({ startedAt }: Claim, clock: Clock): number => Math.max(0, clock.nowMs() - momentMs(startedAt));

/** Judges and settles an attempt of a worker. Returns false, and changes nothing, if the worker no longer held the job. */
export async function finishForWorker(finish: WorkerFinish, result: WorkerResult): Promise<boolean> {
  const [wasHeld = false] = await finishAllForWorker(finish, [result]);
  return wasHeld;
}

/** The same for several attempts, which are settled together where possible. */
export async function finishAllForWorker(
  { clock, random, kinds, settler, isLimited, waker }: WorkerFinish,
  results: readonly WorkerResult[],
): Promise<boolean[]> {
  const endings = results.map(({ claim, result, worker }) => ({
    claim,
    verdict: judge(result, claim, random.fraction(), { once: kinds.of(claim)?.once }),
    facts: { tookMs: tookMsOf(claim, clock), worker },
  }));
  const wereHeld = await settler.addAll(endings);
  const freed = new Map<LaneId, LaneKey>();
  for (const [index, { claim, verdict }] of endings.entries()) {
    if (!wereHeld[index]) continue;
    const delayMs = delayOf(verdict);
    const isBack = mayBeDue(verdict);
    if (delayMs !== null && !isBack) waker.wakeAt(clock.nowMs() + delayMs);
    if (isBack || claim.limited || claim.concurrencyKey !== null || isLimited?.(claim)) freed.set(claim.laneId, claim);
  }
  // If a lane has got a callback_url in the meantime, the scan for work finds what may start. To wake nodes here would usually be in vain.
  if (freed.size > 0) waker.wakePulled([...freed.values()]);
  return wereHeld;
}

import type { Claim } from "#jobs";
import { type Clock, momentMs, type Random } from "#kernel";
import type { PulledWaker, Waker } from "#lanes";
import { type AttemptResult, delayOf, judge } from "./judge.ts";
import type { Settler } from "./settle.ts";

export interface WorkerFinish {
  readonly clock: Clock;
  readonly random: Random;
  readonly settler: Settler;
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
export async function finishForWorker(
  { clock, random, settler, waker }: WorkerFinish,
  { claim, result, worker }: WorkerResult,
): Promise<boolean> {
  const verdict = judge(result, claim, random.fraction());
  const wasHeld = await settler.add(claim, verdict, { tookMs: tookMsOf(claim, clock), worker });
  if (!wasHeld) return false;
  const delayMs = delayOf(verdict);
  // A job that waits for what was reported may be due already.
  const isBack = verdict.kind === "giveBack" && (delayMs === null || verdict.report !== undefined);
  if (delayMs !== null && !isBack) waker.wakeAt(clock.nowMs() + delayMs);
  // If the lane has got a callback_url meanwhile, the look for work finds what may start: claims of nodes would mostly be in vain.
  if (isBack || claim.limited || claim.concurrencyKey !== null) waker.wakePulled([claim]);
  return true;
}

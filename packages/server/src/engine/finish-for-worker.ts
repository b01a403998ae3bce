import type { Claim } from "#jobs";
import type { Clock, Random } from "#kernel";
import type { Waker } from "#lanes";
import { type AttemptResult, judge } from "./judge.ts";
import type { Settler } from "./settle.ts";

export interface WorkerFinish {
  readonly clock: Clock;
  readonly random: Random;
  readonly settler: Settler;
  readonly waker: Waker;
}

/** How an attempt of a worker ended. */
export interface WorkerResult {
  readonly claim: Claim;
  readonly result: AttemptResult;
  readonly tookMs: number;
  readonly worker: string;
}

/** Judges and settles an attempt of a worker. Returns false, and changes nothing, if the worker no longer held the job. */
export async function finishForWorker(
  { clock, random, settler, waker }: WorkerFinish,
  { claim, result, tookMs, worker }: WorkerResult,
): Promise<boolean> {
  const verdict = judge(result, claim, random.fraction());
  const wasHeld = await settler.add(claim, verdict, { tookMs, worker });
  if (!wasHeld) return false;
  const waitMs = "waitMs" in verdict ? verdict.waitMs : 0;
  if (verdict.kind === "retry" || waitMs > 0) waker.wakeAt(clock.nowMs() + waitMs);
  const isBack = verdict.kind === "giveBack" && waitMs === 0;
  if (isBack || claim.limited || claim.concurrencyKey !== null) waker.wake([claim]);
  return true;
}

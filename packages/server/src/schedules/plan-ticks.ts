import type { CatchUp, Overlap, SkipReason } from "@tidemill/contract";
import type { Calendar } from "./calendar.ts";

/** A tick that is this late is still on time: the service was slow, or a node was replaced. Later ones had a downtime. */
export const ON_TIME_MS = 10_000;
/** Missed ticks that `all` makes up for. Source: contract §6. */
const MOST_MISSED = 1_000;
const SECOND_MS = 1_000;

/** What decides on a schedule's due ticks. Moments are milliseconds since 1970. */
export interface DueTicks {
  readonly overlap: Overlap;
  readonly catchUp: CatchUp;
  /** A job of the schedule has not finished. */
  readonly busy: boolean;
  /** The moment that the schedule waited for: its first tick that has not been taken, if its calendar is as it was. */
  readonly dueMs: number;
  /** Ticks up to this one were chosen to run by the plan before; null when none were left. */
  readonly catchUpToMs: number | null;
  readonly nowMs: number;
  /** Ticks that may run at once; what is beyond stays due. At least one. */
  readonly most: number;
}

interface Skip {
  readonly atMs: number;
  readonly reason: SkipReason;
}

/** What becomes of a schedule's due ticks. */
export interface TickPlan {
  /** Ticks that make a job each, oldest first. */
  readonly run: readonly number[];
  /** The newest tick that makes none. */
  readonly skip: Skip | null;
  /** The newest tick that is taken, one way or the other; null when none is. */
  readonly lastMs: number | null;
  /** What the schedule waits for next; null when there is nothing any more. */
  readonly nextMs: number | null;
  /** Ticks from `nextMs` up to this one are chosen to run already. */
  readonly catchUpToMs: number | null;
}

/**
 * Decides which due ticks run. When the oldest is on time, all do; after a downtime `catchUp` chooses. Of what is left, `overlap`
 * lets one run, and only if nothing of the schedule does. Source: contract §6; decision 13.
 */
export function planTicks(calendar: Calendar, terms: DueTicks): TickPlan {
  const { dueMs, nowMs } = terms;
  const firstMs = calendar.next(dueMs - SECOND_MS);
  // Its zone has other rules than when the moment was computed, or it waited for something else.
  if (firstMs === null || firstMs > nowMs) return { run: [], skip: null, lastMs: null, nextMs: firstMs, catchUpToMs: null };
  const chosen = choose(calendar, firstMs, terms);
  return terms.overlap === "skip" ? runOne(calendar, chosen, terms.busy) : runMost(calendar, chosen, terms.most);
}

/** Due ticks, of which those from `fromMs` to `toMs` are to run; null when none are. */
interface Chosen {
  readonly firstMs: number;
  readonly fromMs: number | null;
  readonly toMs: number;
}

function choose(calendar: Calendar, firstMs: number, { catchUp, catchUpToMs, nowMs }: DueTicks): Chosen {
  if (catchUpToMs !== null && firstMs <= catchUpToMs) return { firstMs, fromMs: firstMs, toMs: catchUpToMs };
  const newest = (most: number) => calendar.newest(firstMs - SECOND_MS, nowMs, most)[0] ?? firstMs;
  const secondMs = calendar.next(firstMs);
  const lastMs = secondMs === null || secondMs > nowMs ? firstMs : newest(1);
  if (nowMs - firstMs <= ON_TIME_MS) return { firstMs, fromMs: firstMs, toMs: lastMs };
  switch (catchUp) {
    case "all":
      return { firstMs, fromMs: lastMs === firstMs ? firstMs : newest(MOST_MISSED), toMs: lastMs };
    case "last":
      return { firstMs, fromMs: lastMs, toMs: lastMs };
    case "none":
      return { firstMs, fromMs: nowMs - lastMs <= ON_TIME_MS ? lastMs : null, toMs: lastMs };
  }
}

function runOne(calendar: Calendar, chosen: Chosen, busy: boolean): TickPlan {
  const { fromMs, toMs } = chosen;
  const run = busy || fromMs === null ? [] : [fromMs];
  const overlaps = fromMs !== null && (busy || fromMs < toMs);
  const skip: Skip | null = overlaps ? { atMs: toMs, reason: "overlap" } : missed(calendar, chosen);
  return { run, skip, lastMs: toMs, nextMs: calendar.next(toMs), catchUpToMs: null };
}

function runMost(calendar: Calendar, chosen: Chosen, most: number): TickPlan {
  const { fromMs, toMs } = chosen;
  const run: number[] = [];
  let nextMs = fromMs ?? calendar.next(toMs);
  for (; nextMs !== null && nextMs <= toMs && run.length < most; nextMs = calendar.next(nextMs)) run.push(nextMs);
  const isCut = nextMs !== null && nextMs <= toMs;
  return { run, skip: missed(calendar, chosen), lastMs: isCut ? (run.at(-1) ?? null) : toMs, nextMs, catchUpToMs: isCut ? toMs : null };
}

/** The newest tick that a downtime cost. */
function missed(calendar: Calendar, { firstMs, fromMs, toMs }: Chosen): Skip | null {
  if (fromMs === firstMs) return null;
  const [atMs] = fromMs === null ? [toMs] : calendar.newest(firstMs - SECOND_MS, fromMs - SECOND_MS, 1);
  return atMs === undefined ? null : { atMs, reason: "catch_up" };
}

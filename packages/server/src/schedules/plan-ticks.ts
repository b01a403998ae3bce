import type { CatchUp, Overlap, SkipReason } from "@tidemill/contract";
import type { Calendar as AnyCalendar } from "./calendar.ts";

/** How late a tick may be and still count as on time: the service was slow, or a node was replaced. Later ticks were missed in a downtime. */
export const ON_TIME_MS = 10_000;
/** How many missed ticks `all` runs. Source: contract §6. */
const MAX_MISSED = 1_000;
const SECOND_MS = 1_000;

type Calendar = Pick<AnyCalendar, "next" | "newest">;

/** What the plan for a schedule's due ticks depends on. Moments are milliseconds since 1970. */
export interface DueTicks {
  readonly overlap: Overlap;
  readonly catchUp: CatchUp;
  /** Whether a job of the schedule has not finished. */
  readonly busy: boolean;
  /** The stored next run: the first tick that has not been taken, unless the rules of its time zone have changed since. */
  readonly dueMs: number;
  /** The previous plan chose ticks up to this one to run; null when it left none. */
  readonly catchUpToMs: number | null;
  readonly nowMs: number;
  /** How many ticks may run now, at least one; the others stay due. */
  readonly limit: number;
}

/** Consecutive ticks that are skipped. */
interface Skip {
  readonly firstMs: number;
  /** The last of them. */
  readonly atMs: number;
  readonly reason: SkipReason;
}

/** Which of a schedule's due ticks run, and when it is due next. */
export interface TickPlan {
  /** Ticks that create one job each, oldest first. */
  readonly run: readonly number[];
  /** The ticks that are skipped. */
  readonly skip: Skip | null;
  /** The newest tick that runs or is skipped; null when none is. */
  readonly lastMs: number | null;
  /** The next run; null when there is no further tick. */
  readonly nextMs: number | null;
  /** Ticks from `nextMs` up to this one are already chosen to run. */
  readonly catchUpToMs: number | null;
}

/**
 * Decides which due ticks run. When the oldest is on time, all of them are chosen; after a downtime, `catchUp` chooses. With overlap
 * `skip`, only one of the chosen ticks runs, and none while a job of the schedule has not finished. Source: contract §6; decision 13.
 */
export function planTicks(calendar: Calendar, terms: DueTicks): TickPlan {
  const { dueMs, nowMs } = terms;
  const firstMs = calendar.next(dueMs - SECOND_MS);
  // The zone's rules have changed since `dueMs` was computed, or a node that could not read the zone had put the schedule off.
  if (firstMs === null || firstMs > nowMs) return { run: [], skip: null, lastMs: null, nextMs: firstMs, catchUpToMs: null };
  const chosen = choose(calendar, firstMs, terms);
  return terms.overlap === "skip" ? runOne(calendar, chosen, terms.busy) : runUpToLimit(calendar, chosen, terms.limit);
}

/** The due ticks begin at `firstMs`; those from `fromMs` to `toMs` are chosen to run. `fromMs` is null when none is. */
interface Chosen {
  readonly firstMs: number;
  readonly fromMs: number | null;
  readonly toMs: number;
}

function choose(calendar: Calendar, firstMs: number, { catchUp, catchUpToMs, nowMs }: DueTicks): Chosen {
  if (catchUpToMs !== null && firstMs <= catchUpToMs) return { firstMs, fromMs: firstMs, toMs: catchUpToMs };
  const newest = (limit: number) => calendar.newest(firstMs - SECOND_MS, nowMs, limit)[0] ?? firstMs;
  const secondMs = calendar.next(firstMs);
  const lastMs = secondMs === null || secondMs > nowMs ? firstMs : newest(1);
  if (nowMs - firstMs <= ON_TIME_MS) return { firstMs, fromMs: firstMs, toMs: lastMs };
  switch (catchUp) {
    case "all":
      return { firstMs, fromMs: lastMs === firstMs ? firstMs : newest(MAX_MISSED), toMs: lastMs };
    case "last":
      return { firstMs, fromMs: lastMs, toMs: lastMs };
    case "none":
      return { firstMs, fromMs: nowMs - lastMs <= ON_TIME_MS ? lastMs : null, toMs: lastMs };
  }
}

function runOne(calendar: Calendar, chosen: Chosen, busy: boolean): TickPlan {
  const { firstMs, fromMs, toMs } = chosen;
  const run = busy || fromMs === null ? [] : [fromMs];
  const overlaps = fromMs !== null && (busy || fromMs < toMs);
  const overlapsFromMs = busy || fromMs === null ? firstMs : calendar.next(fromMs);
  const skip: Skip | null = overlaps ? { firstMs: overlapsFromMs ?? toMs, atMs: toMs, reason: "overlap" } : missed(calendar, chosen);
  return { run, skip, lastMs: toMs, nextMs: calendar.next(toMs), catchUpToMs: null };
}

function runUpToLimit(calendar: Calendar, chosen: Chosen, limit: number): TickPlan {
  const { fromMs, toMs } = chosen;
  const run: number[] = [];
  let nextMs = fromMs ?? calendar.next(toMs);
  for (; nextMs !== null && nextMs <= toMs && run.length < limit; nextMs = calendar.next(nextMs)) run.push(nextMs);
  const isCut = nextMs !== null && nextMs <= toMs;
  return { run, skip: missed(calendar, chosen), lastMs: isCut ? (run.at(-1) ?? null) : toMs, nextMs, catchUpToMs: isCut ? toMs : null };
}

/** The ticks that were missed in a downtime and are not chosen to run. */
function missed(calendar: Calendar, { firstMs, fromMs, toMs }: Chosen): Skip | null {
  if (fromMs === firstMs) return null;
  const [atMs] = fromMs === null ? [toMs] : calendar.newest(firstMs - SECOND_MS, fromMs - SECOND_MS, 1);
  return atMs === undefined ? null : { firstMs, atMs, reason: "catch_up" };
}

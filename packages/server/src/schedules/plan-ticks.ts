import type { CatchUp, Overlap, SkipReason } from "@tidemill/contract";
import type { Calendar } from "./calendar.ts";

/** A tick that is this late is still on time: the service was slow, or a node was replaced. Later ones had a downtime. */
const ON_TIME_MS = 10_000;
/** Missed ticks that `all` makes up for. Source: contract §6. */
const MOST_MISSED = 1_000;

/** What decides on a schedule's due ticks. Moments are milliseconds since 1970. */
export interface DueTicks {
  readonly overlap: Overlap;
  readonly catchUp: CatchUp;
  /** A job of the schedule has not finished. */
  readonly busy: boolean;
  /** The first tick that has not been taken. */
  readonly dueMs: number;
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
  /** The newest tick that is taken, one way or the other. */
  readonly lastMs: number;
  /** The first tick that is not taken; null when there is none any more. */
  readonly nextMs: number | null;
}

/**
 * Decides which due ticks run. When the oldest is on time, all do; after a downtime `catchUp` chooses. Of what is left, `overlap`
 * lets one run, and only if nothing of the schedule does. Source: contract §6; decision 13.
 */
export function planTicks(calendar: Calendar, { overlap, catchUp, busy, dueMs, nowMs, most }: DueTicks): TickPlan {
  const due = findDue(calendar, dueMs, nowMs);
  const chosen = nowMs - dueMs <= ON_TIME_MS ? due.newest() : chooseMissed(catchUp, due, nowMs);
  const lastChosen = chosen.at(-1) ?? null;
  const missed = due.before(chosen[0] ?? null);
  const skipMissed: Skip | null = missed === null ? null : { atMs: missed, reason: "catch_up" };
  if (overlap === "skip") {
    const run = busy ? [] : chosen.slice(0, 1);
    const skip: Skip | null = lastChosen !== null && run.length < chosen.length ? { atMs: lastChosen, reason: "overlap" } : skipMissed;
    return { run, skip, lastMs: due.lastMs, nextMs: due.nextMs };
  }
  const rest = chosen[most];
  if (rest === undefined) return { run: chosen, skip: skipMissed, lastMs: due.lastMs, nextMs: due.nextMs };
  return { run: chosen.slice(0, most), skip: skipMissed, lastMs: chosen[most - 1] ?? dueMs, nextMs: rest };
}

interface Due {
  /** At most as many as `all` makes up for, oldest first. */
  newest(most?: number): readonly number[];
  /** The newest that is older than `ms`, null being none of those that are chosen. */
  before(ms: number | null): number | null;
  readonly lastMs: number;
  readonly nextMs: number | null;
}

function findDue(calendar: Calendar, dueMs: number, nowMs: number): Due {
  const second = calendar.next(dueMs);
  // Mostly there is one, and the calendar is asked but once.
  if (second === null || second > nowMs) {
    return { newest: () => [dueMs], before: (ms) => (ms === null ? dueMs : null), lastMs: dueMs, nextMs: second };
  }
  const newest = (most = MOST_MISSED, untilMs = nowMs) => calendar.newest(dueMs - 1, untilMs, most);
  return {
    newest,
    before: (ms) => newest(1, ms === null ? nowMs : ms - 1)[0] ?? null,
    lastMs: newest(1)[0] ?? dueMs,
    nextMs: calendar.next(nowMs),
  };
}

function chooseMissed(catchUp: CatchUp, due: Due, nowMs: number): readonly number[] {
  switch (catchUp) {
    case "all":
      return due.newest();
    case "last":
      return due.newest(1);
    case "none":
      return due.newest(1).filter((ms) => nowMs - ms <= ON_TIME_MS);
  }
}

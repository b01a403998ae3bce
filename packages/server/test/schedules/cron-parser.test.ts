import { CronExpressionParser } from "cron-parser";
import { expect } from "vitest";
import { readCalendar } from "../../src/schedules/calendar.ts";
import { test } from "../harness/engine.ts";
import { type OffsetChange, readChanges, TEN_YEARS, ZONES } from "./offsets.ts";
import { FREQUENT, type Pattern, RARE, shownAt } from "./patterns.ts";

const STEP_MS = 30_000;
const HOUR_MS = 3_600_000;
const HALF_DAY_MS = 12 * HOUR_MS;

/** A tick that only one of the two implementations has, with the last change of offset before it. */
interface Difference {
  readonly whose: "ours" | "theirs";
  readonly tickMs: number;
  readonly pattern: Pattern;
  readonly change: OffsetChange;
}

const shiftMs = ({ beforeMs, afterMs }: OffsetChange): number => afterMs - beforeMs;
const HALF_HOUR_MS = HOUR_MS / 2;
const isHalfHourTwice = (change: OffsetChange): boolean => shiftMs(change) === -HALF_HOUR_MS;

/** The change skips a time that matches. */
function skipsMatch({ matches }: Pattern, { atMs, beforeMs, afterMs }: OffsetChange): boolean {
  for (let wallMs = atMs + beforeMs; wallMs < atMs + afterMs; wallMs += STEP_MS) if (matches(shownAt(wallMs))) return true;
  return false;
}

/** The allowed differences, each with a condition on the tick. */
const EXPLANATIONS: Record<string, (difference: Difference) => boolean> = {
  "what a gap leaves out runs when the gap is over": ({ whose, tickMs, pattern, change }) =>
    whose === "ours" && !pattern.hourly && tickMs === change.atMs && skipsMatch(pattern, change),
  "cron-parser runs an hour later what is due in the hour of a gap": ({ whose, tickMs, pattern, change }) => {
    const intoGapMs = tickMs + change.afterMs - HOUR_MS - (change.atMs + change.beforeMs);
    return (
      whose === "theirs" &&
      shiftMs(change) > 0 &&
      intoGapMs >= 0 &&
      intoGapMs < HOUR_MS &&
      !pattern.hourly &&
      pattern.matches(shownAt(tickMs + change.afterMs - HOUR_MS))
    );
  },
  "cron-parser loses its way where half an hour comes twice": ({ whose, tickMs, change }) =>
    whose === "ours" && isHalfHourTwice(change) && tickMs >= change.atMs && tickMs <= change.atMs + HALF_HOUR_MS,
  "cron-parser leaves out the rest of an hour of which the clocks skip half": ({ whose, tickMs, pattern, change }) =>
    whose === "ours" &&
    shiftMs(change) === HALF_HOUR_MS &&
    tickMs >= change.atMs &&
    tickMs < change.atMs + HALF_HOUR_MS &&
    pattern.matches(shownAt(tickMs + change.afterMs)),
};

interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Where half an hour occurs twice, cron-parser loops or gives up. Then it is started again after that half hour. */
function theirTicks(cron: string, tz: string, { fromMs, untilMs }: Stretch, changes: OffsetChange[]): Set<number> {
  const ticks = new Set<number>();
  const expression = CronExpressionParser.parse(cron, { tz, currentDate: fromMs });
  for (let lastMs = fromMs; ; ) {
    const tickMs = tryNext(expression);
    if (tickMs !== null && tickMs > lastMs) {
      if (tickMs > untilMs) return ticks;
      ticks.add(tickMs);
      lastMs = tickMs;
    } else {
      const lost = changes.find((change) => change.atMs > lastMs);
      if (!lost || !isHalfHourTwice(lost)) throw new Error(`cron-parser is lost after ${new Date(lastMs).toISOString()}`);
      lastMs = lost.atMs + HALF_HOUR_MS;
      expression.reset(new Date(lastMs));
    }
  }
}

function tryNext(expression: ReturnType<typeof CronExpressionParser.parse>): number | null {
  try {
    return expression.next().getTime();
  } catch {
    return null;
  }
}

function differences(pattern: Pattern, zone: string, stretch: Stretch, changes: OffsetChange[]): Difference[] {
  const ours = new Set(readCalendar(pattern.cron, zone).newest(stretch.fromMs, stretch.untilMs, 10_000));
  const theirs = theirTicks(pattern.cron, zone, stretch, changes);
  const never: OffsetChange = { atMs: Number.NEGATIVE_INFINITY, beforeMs: 0, afterMs: 0 };
  return [...ours, ...theirs]
    .filter((tickMs) => ours.has(tickMs) !== theirs.has(tickMs))
    .map((tickMs) => ({
      whose: ours.has(tickMs) ? "ours" : "theirs",
      tickMs,
      pattern,
      change: changes.findLast(({ atMs }) => atMs <= tickMs) ?? never,
    }));
}

/** Rare patterns are checked for ten years. The others are checked for half a day on both sides of each change. */
function compare(zone: string, changes: OffsetChange[]): Difference[] {
  const whole = { fromMs: Date.parse(TEN_YEARS.from), untilMs: Date.parse(TEN_YEARS.until) };
  const around = changes.map((change) => ({
    fromMs: isHalfHourTwice(change) ? change.atMs + HALF_HOUR_MS : change.atMs - HALF_DAY_MS,
    untilMs: change.atMs + HALF_DAY_MS,
  }));
  return [
    ...RARE.flatMap((pattern) => differences(pattern, zone, whole, changes)),
    ...FREQUENT.flatMap((pattern) => around.flatMap((stretch) => differences(pattern, zone, stretch, changes))),
  ];
}

/**
 * Runs `work` with a cache for Intl's formatter. cron-parser formats most moments several times, and spends most of its time on it.
 */
function remembering<Answer>(work: () => Answer): Answer {
  const { formatToParts } = Intl.DateTimeFormat.prototype;
  const known = new Map<Intl.DateTimeFormat, Map<number, Intl.DateTimeFormatPart[]>>();
  Intl.DateTimeFormat.prototype.formatToParts = function (date) {
    const answers = known.get(this) ?? new Map<number, Intl.DateTimeFormatPart[]>();
    known.set(this, answers);
    const parts = answers.get(Number(date)) ?? formatToParts.call(this, date);
    answers.set(Number(date), parts);
    return parts;
  };
  try {
    return work();
  } finally {
    Intl.DateTimeFormat.prototype.formatToParts = formatToParts;
  }
}

test("every difference from cron-parser over ten years in eight zones is one of four", { timeout: 300_000 }, async ({ engine }) => {
  const applied = new Set<string>();
  for (const zone of ZONES) {
    const changes = await readChanges(engine, zone);
    for (const difference of remembering(() => compare(zone, changes))) {
      const { whose, tickMs, pattern } = difference;
      const name = Object.keys(EXPLANATIONS).find((each) => EXPLANATIONS[each]?.(difference));
      expect(name, `${pattern.cron} in ${zone}: only ${whose} at ${new Date(tickMs).toISOString()}`).toBeDefined();
      applied.add(name ?? "");
    }
  }
  expect([...applied].sort()).toEqual(Object.keys(EXPLANATIONS).sort());
});

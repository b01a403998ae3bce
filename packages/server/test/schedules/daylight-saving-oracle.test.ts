import { expect } from "vitest";
import { readCalendar } from "../../src/schedules/calendar.ts";
import { test } from "../harness/engine.ts";
import { type OffsetChange, readChanges, ZONES } from "./offsets.ts";
import { FREQUENT, type Pattern, RARE, type Shown, shownAt } from "./patterns.ts";

const STEP_MS = 30_000;
/** Longer than the day that Apia skipped. */
const AROUND_MS = 26 * 3_600_000;

interface Walk {
  /** Every moment around a change, with the time that clocks show then. */
  readonly moments: readonly { readonly ms: number; readonly wallMs: number; readonly shown: Shown }[];
  /** Every time from the first shown to the last, and the moment that runs it: the first that shows it, or the first after the gap. */
  readonly times: readonly { readonly ms: number; readonly shown: Shown }[];
}

function walk({ atMs, beforeMs, afterMs }: OffsetChange): Walk {
  const all = Array.from({ length: (2 * AROUND_MS) / STEP_MS + 1 }, (_, step) => atMs - AROUND_MS + step * STEP_MS);
  const moments = all.map((ms) => {
    const wallMs = ms + (ms < atMs ? beforeMs : afterMs);
    return { ms, wallMs, shown: shownAt(wallMs) };
  });
  const showing = new Map<number, number>();
  for (const { ms, wallMs } of moments) if (!showing.has(wallMs)) showing.set(wallMs, ms);
  const times = [];
  for (let wallMs = moments[0]?.wallMs ?? 0; wallMs <= (moments.at(-1)?.wallMs ?? 0); wallMs += STEP_MS) {
    times.push({ ms: showing.get(wallMs) ?? atMs, shown: shownAt(wallMs) });
  }
  return { moments, times };
}

/** The ticks as the contract defines them, found by checking every moment. */
function findTicks({ hourly, matches }: Pattern, { moments, times }: Walk): number[] {
  const found = (hourly ? moments : times).filter(({ shown }) => matches(shown)).map(({ ms }) => ms);
  return [...new Set(found)].sort((a, b) => a - b);
}

/** From where to where ticks are counted around a change: with it, before it, behind it. */
const COUNTED = [
  [-AROUND_MS, AROUND_MS],
  [-AROUND_MS, 0],
  [0, AROUND_MS],
  [-5_400_000, 1_800_000],
  [-STEP_MS, STEP_MS],
] as const;

const texts = (all: number[]) => all.map((ms) => new Date(ms).toISOString());

function expectTicks(zone: string, changes: OffsetChange[]): void {
  expect(changes).not.toHaveLength(0);
  for (const change of changes) {
    const walked = walk(change);
    for (const pattern of [...RARE, ...FREQUENT]) {
      const calendar = readCalendar(pattern.cron, zone);
      const ticks = calendar.newest(change.atMs - AROUND_MS - 1, change.atMs + AROUND_MS, 10_000);
      expect(texts(ticks), `${pattern.cron} around ${texts([change.atMs])}`).toEqual(texts(findTicks(pattern, walked)));
      const counts = COUNTED.map(([from, until]) => calendar.count(change.atMs + from, change.atMs + until));
      const counted = COUNTED.map(([from, until]) => ticks.filter((ms) => ms >= change.atMs + from && ms < change.atMs + until).length);
      expect(counts, `${pattern.cron} around ${texts([change.atMs])}`).toEqual(counted);
    }
  }
}

test.for(ZONES)("what fires around every change of ten years in %s is what the contract says", async (zone, { engine }) => {
  expectTicks(zone, await readChanges(engine, zone));
});

test("clocks that are set by 44 minutes and 30 seconds are no exception", async ({ engine }) => {
  const zone = "Africa/Monrovia";
  const changes = await readChanges(engine, zone, { from: "1972-01-05T00:00:00Z", until: "1972-01-09T00:00:00Z", step: "30 seconds" });
  expect(changes.map(({ beforeMs, afterMs }) => afterMs - beforeMs)).toEqual([0, 2_670_000]);
  expectTicks(zone, changes);
});

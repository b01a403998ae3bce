import fc from "fast-check";
import { afterEach, describe, expect } from "vitest";
import type { Database, WorkspaceId } from "#kernel";
import { RecentRequests } from "../../src/usage/recent-requests.ts";
import { takeRequestsAcrossWorkspaces } from "../../src/usage/request-rate-store.ts";
import { putLane, test } from "../harness/engine.ts";

const START = Date.UTC(2026, 10, 21, 12);
const HALF_SECOND = 500;

/** Takes of one workspace. */
const takerOf = (engine: Database, workspaceId: WorkspaceId) => async (limit: number, wanted: number) => {
  const [rate] = await takeRequestsAcrossWorkspaces(engine, [{ workspaceId, limit, wanted }]);
  if (!rate) throw new Error("Nothing was answered.");
  const { workspaceId: _, ...answer } = rate;
  return answer;
};

const countIn = (times: readonly number[], fromMs: number): number => times.filter((at) => at > fromMs).length;

const steps = fc.array(
  fc.record({
    passMs: fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 70_000 })),
    wanted: fc.integer({ min: 0, max: 12 }),
    limit: fc.constantFrom(10, 10, 10, 4, 0),
  }),
  { minLength: 1, maxLength: 25 },
);

afterEach(({ clock }: { clock: { set(ms: number): Promise<void> } }) => clock.set(START));

describe("taking requests", () => {
  test("taking requests never lets more than the limit through in any 60 seconds, and releases all within 61", async ({
    engine,
    database,
    clock,
  }) => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const { workspaceId } = await putLane(database);
        const take = takerOf(engine, workspaceId);
        const node = new RecentRequests();
        const accepted: number[] = [];
        let nowMs = START;
        for (const { passMs, wanted, limit } of taken) {
          nowMs += passMs;
          await clock.set(nowMs);
          const { granted, ...rate } = await take(limit, wanted);
          const most = Math.max(0, limit - countIn(accepted, nowMs - 60_000));
          const least = Math.max(0, limit - countIn(accepted, nowMs - 61_000));
          expect(granted).toBeLessThanOrEqual(Math.min(wanted, most));
          expect(granted).toBeGreaterThanOrEqual(Math.min(wanted, least));
          accepted.push(...Array.from({ length: granted }, () => nowMs));
          // A node that counts locally gets the same result.
          expect(Math.min(wanted, node.look(nowMs, limit).remaining)).toBe(granted);
          node.add(nowMs, granted);
          expect(node.look(nowMs, limit)).toEqual(rate);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("taking requests says exactly when more is left, and when all is", async ({ engine, database, clock }) => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 10 }), async (taken, lowered) => {
        const { workspaceId } = await putLane(database);
        const take = takerOf(engine, workspaceId);
        let nowMs = START;
        for (const { passMs, wanted } of taken) {
          nowMs += passMs;
          await clock.set(nowMs);
          await take(10, wanted);
        }
        const now = await take(lowered, 0);
        if (now.resetsAtMs <= nowMs) return;
        const leftAt = async (ms: number) => {
          await clock.set(ms);
          return (await take(lowered, 0)).remaining;
        };
        expect(await leftAt(now.moreAtMs - 1)).toBe(now.remaining);
        expect(await leftAt(now.moreAtMs)).toBeGreaterThan(now.remaining);
        expect(await leftAt(now.resetsAtMs - 1)).toBeLessThan(lowered);
        expect(await leftAt(now.resetsAtMs)).toBe(lowered);
      }),
      { numRuns: 30 },
    );
  });

  test("taking requests grants no request twice to takers that race, in whatever order they name the workspaces", async ({
    engine,
    database,
  }) => {
    const workspaces = await Promise.all(Array.from({ length: 5 }, async () => (await putLane(database)).workspaceId));
    const demandOf = (workspaceId: WorkspaceId) => ({ workspaceId, limit: 100, wanted: 7 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        takeRequestsAcrossWorkspaces(engine, (n % 2 === 0 ? workspaces : workspaces.toReversed()).map(demandOf)),
      ),
    );
    const winners = answers.flatMap((answer, n) => (answer.some(({ granted }) => granted > 0) ? [n % 2] : []));
    expect(new Set(winners)).toEqual(new Set([0, 1]));
    for (const workspaceId of workspaces) {
      const granted = answers.flat().filter((one) => one.workspaceId === workspaceId);
      expect(granted.reduce((sum, one) => sum + one.granted, 0)).toBe(100);
    }
  });

  test("taking requests writes nothing, and locks nothing, when it refuses or looks", async ({ engine, database, clock }) => {
    const { workspaceId } = await putLane(database);
    const take = takerOf(engine, workspaceId);
    await take(5, 0);
    expect(await database.query("select from request_rate where workspace_id = $1", [workspaceId])).toEqual([]);
    await take(5, 5);
    const rowNow = () => database.query("select ctid, xmin, xmax from request_rate where workspace_id = $1", [workspaceId]);
    const before = await rowNow();
    for (const wanted of [1, 100, 0]) {
      await clock.advance(10);
      expect((await take(5, wanted)).granted).toBe(0);
    }
    expect(await rowNow()).toEqual(before);
    await clock.advance(31);
    expect((await take(5, 1)).granted).toBe(1);
    expect(await rowNow()).not.toEqual(before);
  });

  test("taking requests goes by the later time when a clock is set back, and passes over one that was far ahead", async ({
    engine,
    database,
    clock,
  }) => {
    const { workspaceId } = await putLane(database);
    const take = takerOf(engine, workspaceId);
    await take(5, 5);
    await clock.set(START - 30_000);
    expect(await take(5, 1)).toEqual({ granted: 0, remaining: 0, moreAtMs: START + 61_000, resetsAtMs: START + 61_000 });
    await clock.set(START + 61_000 - 1);
    expect((await take(5, 1)).granted).toBe(0);
    await clock.set(START + 61_000);
    expect((await take(5, 5)).granted).toBe(5);
    await clock.set(START);
    expect((await take(5, 5)).granted).toBe(0);
    await clock.set(START - HALF_SECOND);
    expect((await take(5, 5)).granted).toBe(5);
  });

  test("taking requests grants to a workspace that is gone without leaving a row", async ({ engine, database }) => {
    const gone = "01890000-0000-7000-8000-000000000000" as WorkspaceId;
    expect((await takerOf(engine, gone)(5, 2)).granted).toBe(2);
    expect(await database.query("select from request_rate where workspace_id = $1", [gone])).toEqual([]);
  });
});

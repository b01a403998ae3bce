import fc from "fast-check";
import { describe, expect } from "vitest";
import { claimAcrossWorkspaces } from "#jobs";
import { type Database, type Db, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { laneOf, putLane, putNode, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import type { Service } from "../harness/service.ts";

class Undo extends Error {
  override readonly name = "Undo";
}

/** The payloads of a lane's waiting jobs in claim order. Changes nothing. */
async function claimOrder(engine: Database, lane: LaneKey, leaseId: number, take = 1): Promise<unknown[]> {
  const order: unknown[] = [];
  const claimAll = async (tx: Db) => {
    await rows(tx, sql`update lane set paused = false, served = 'push' where id = ${lane.laneId}`);
    for (;;) {
      const { claims } = await claimAcrossWorkspaces(tx, { leaseId, served: "push" }, [{ ...lane, take }]);
      if (claims.length === 0) throw new Undo();
      order.push(...claims.map(({ payload }) => JSON.parse(payload)));
    }
  };
  await engine.transaction(claimAll).catch((error) => {
    if (!(error instanceof Undo)) throw error;
  });
  return order;
}

async function orderOf(service: Service, engine: Database, queue: string): Promise<unknown[]> {
  return claimOrder(engine, await laneOf(service, queue), await putNode(service.database));
}

describe("the jobs of a queue go", () => {
  test("the jobs of a queue go first in, first out", async ({ service, engine }) => {
    const queue = await service.queue();
    for (let index = 0; index < 20; index += 1) await service.enqueue({ queue, payload: index });
    expect(await orderOf(service, engine, queue)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  test("jobs of several queues that are written together are each stored in their own queue", async ({ service, engine }) => {
    const queues = [await service.queue(), await service.queue()];
    const places = Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? 0 : 1));
    await Promise.all(places.map((place, payload) => service.enqueue({ queue: queues[place] as string, payload })));
    for (const [place, queue] of queues.entries()) {
      const found = (await orderOf(service, engine, queue)) as number[];
      expect(found.toSorted((one, other) => one - other)).toEqual(places.flatMap((of, payload) => (of === place ? payload : [])));
    }
  });

  test("the jobs of a queue go first in, first out within a batch, too", async ({ service, engine }) => {
    const queue = await service.queue();
    await service.ok(
      "POST",
      `/v1/queues/${queue}/jobs/batch`,
      Array.from({ length: 100 }, (_, index) => ({ payload: index })),
    );
    await service.enqueue({ queue, payload: 100 });
    expect(await orderOf(service, engine, queue)).toEqual(Array.from({ length: 101 }, (_, index) => index));
  });

  test("the jobs of a queue go highest priority first, and first in, first out among equals", async ({ service, engine }) => {
    const queue = await service.queue();
    for (const [payload, priority] of [
      ["a", 0],
      ["b", -100],
      ["c", 100],
      ["d", 0],
      ["e", 5],
      ["f", 100],
    ] as const)
      await service.enqueue({ queue, payload, priority });
    await service.enqueue({ queue, payload: "g" });
    expect(await orderOf(service, engine, queue)).toEqual(["c", "f", "e", "a", "d", "g", "b"]);
  });

  test("the jobs of a queue go by when they were due, not by when they were made", async ({ service, engine }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "due at 20", delay: 20 });
    await service.enqueue({ queue, payload: "due at 10", delay: 10 });
    await service.enqueue({ queue, payload: "due at 0" });
    await service.advance(15);
    await service.enqueue({ queue, payload: "due at 15" });
    await service.enqueue({ queue, payload: "due long ago", run_at: "2020-01-01T00:00:00Z" });
    await service.advance(5);
    expect(await orderOf(service, engine, queue)).toEqual(["due long ago", "due at 0", "due at 10", "due at 15", "due at 20"]);
  });

  test("the jobs of a queue go with priority before due time", async ({ service, engine }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, payload: "old" });
    await service.enqueue({ queue, payload: "late but urgent", priority: 1, delay: 5 });
    await service.advance(5);
    expect(await orderOf(service, engine, queue)).toEqual(["late but urgent", "old"]);
  });

  test("the jobs of a queue go in one order, however many are claimed at once", async ({ database, engine }) => {
    const leaseId = await putNode(database);
    const seed = fc.record({ priority: fc.integer({ min: -2, max: 2 }), dueAgo: fc.integer({ min: 0, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(seed, { minLength: 1, maxLength: 15 }), fc.integer({ min: 2, max: 20 }), async (seeds, take) => {
        const lane = await putLane(database, { paused: true });
        for (const [index, { priority, dueAgo }] of seeds.entries()) {
          const [id] = await putJobs(database, lane, { state: "waiting", priority, runAt: `moment() - ${dueAgo} * interval '1 second'` });
          await database.query("update job set payload = $1 where id = $2", [String(index), id]);
        }
        const expected = [...seeds.entries()]
          .sort(([i, a], [j, b]) => b.priority - a.priority || b.dueAgo - a.dueAgo || i - j)
          .map(([index]) => index);
        expect(await claimOrder(engine, lane, leaseId)).toEqual(expected);
        const atOnce = await claimOrder(engine, lane, leaseId, take);
        // A claim returns its rows in no particular order. Only the set of rows counts.
        for (let from = 0; from < expected.length; from += take)
          expect(new Set(atOnce.slice(from, from + take))).toEqual(new Set(expected.slice(from, from + take)));
      }),
      { numRuns: 20 },
    );
  });
});

import { expect, test } from "vitest";
import type { WorkspaceId } from "#kernel";
import { LaneCache, type LaneId } from "#lanes";

const claimOf = (revision: number) => ({
  workspaceId: "00000000-0000-7000-8000-000000000001" as WorkspaceId,
  laneId: 1 as LaneId,
  revision,
});

/** A cache of a lane that the test changes. Each read waits until the test lets it end. */
function setUp() {
  const reads: PromiseWithResolvers<{ revision: number } | null>[] = [];
  const cache = new LaneCache(() => {
    const read = Promise.withResolvers<{ revision: number } | null>();
    reads.push(read);
    return read.promise;
  });
  return { cache, reads };
}

test("what was read is used until a claim knows a newer revision", async () => {
  const { cache, reads } = setUp();
  const first = cache.of(claimOf(1));
  reads[0]?.resolve({ revision: 2 });
  expect(await first).toEqual({ revision: 2 });
  expect([cache.of(claimOf(1)), cache.of(claimOf(2))]).toEqual([{ revision: 2 }, { revision: 2 }]);
  const newer = cache.of(claimOf(3));
  reads[1]?.resolve({ revision: 3 });
  expect(await newer).toEqual({ revision: 3 });
  expect(reads).toHaveLength(2);
});

test("claims share a read, and one that knows a newer revision than it brings reads again", async () => {
  const { cache, reads } = setUp();
  const asked = [1, 1, 2].map((revision) => cache.of(claimOf(revision)));
  reads[0]?.resolve({ revision: 1 });
  expect([await asked[0], await asked[1]]).toEqual([{ revision: 1 }, { revision: 1 }]);
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.resolve({ revision: 2 });
  expect(await asked[2]).toEqual({ revision: 2 });
});

test("a claim that is newer than a read that found nothing reads again", async () => {
  const { cache, reads } = setUp();
  const asked = [2, 2, 3].map((revision) => cache.of(claimOf(revision)));
  reads[0]?.resolve(null);
  expect([await asked[0], await asked[1]]).toEqual([null, null]);
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.resolve({ revision: 3 });
  expect(await asked[2]).toEqual({ revision: 3 });
});

test("what is gone, and a read that failed, are read again", async () => {
  const { cache, reads } = setUp();
  const gone = cache.of(claimOf(1));
  reads[0]?.resolve(null);
  expect(await gone).toBeNull();
  const failed = cache.of(claimOf(1));
  reads[1]?.reject(new Error("The database is away."));
  await expect(failed).rejects.toThrow("away");
  const found = cache.of(claimOf(1));
  reads[2]?.resolve({ revision: 1 });
  expect(await found).toEqual({ revision: 1 });
});

import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Batcher, type WorkspaceId } from "#kernel";

const workspaceOf = () => "one" as WorkspaceId;

/** A writer that writes when a test lets it. */
function heldWriter() {
  const writes: { items: number[]; end: (error?: Error) => void }[] = [];
  const write = (items: number[]): Promise<number[]> =>
    new Promise((resolve, reject) => {
      writes.push({ items, end: (error) => (error ? reject(error) : resolve(items.map((item) => item * 10))) });
    });
  const ended = async (error?: Error): Promise<number[]> => {
    const next = writes.shift();
    next?.end(error);
    await setImmediate();
    return next?.items ?? [];
  };
  return { write, writes, ended };
}

const turn = async () => {
  await setImmediate();
  await setImmediate();
};

describe("a batcher", () => {
  test("a batcher writes a lone item at once", async () => {
    const { write, writes } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 10, writers: 1, write });
    void batcher.add(1);
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[1]]);
  });

  test("a batcher writes together what arrives while a write is under way, and answers each its own", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 10, writers: 1, write });
    const first = batcher.add(1);
    await turn();
    const others = Promise.all([2, 3, 4].map((item) => batcher.add(item)));
    expect(await ended()).toEqual([1]);
    expect(await first).toBe(10);
    expect(await ended()).toEqual([2, 3, 4]);
    expect(await others).toEqual([20, 30, 40]);
  });

  test("a batcher answers a caller of several items when all are written, each its own", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 2, writers: 1, write });
    const [all, none] = [batcher.addAll([1, 2, 3]), batcher.addAll([])];
    expect(await none).toEqual([]);
    await turn();
    expect([await ended(), await ended()]).toEqual([[1, 2], [3]]);
    expect(await all).toEqual([10, 20, 30]);
  });

  test("a batcher rejects a call of several items when a write of them fails, and writes the others", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 2, writers: 1, write });
    const all = batcher.addAll([1, 2, 3]);
    all.catch(() => {});
    await turn();
    expect([await ended(new Error("refused")), await ended()]).toEqual([[1, 2], [3]]);
    await expect(all).rejects.toThrow("refused");
  });

  test("a batcher puts no more than the most into one write, in the order in which they came", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 3, writers: 1, write });
    const all = Promise.all([1, 2, 3, 4, 5, 6, 7].map((item) => batcher.add(item)));
    await turn();
    expect([await ended(), await ended(), await ended()]).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
    expect(await all).toEqual([10, 20, 30, 40, 50, 60, 70]);
  });

  test("a batcher writes an item that is heavier than the most by itself", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 3, writers: 1, weigh: (item: number) => item, write });
    void Promise.all([1, 9, 2].map((item) => batcher.add(item)));
    await turn();
    expect([await ended(), await ended(), await ended()]).toEqual([[1], [9], [2]]);
  });

  test("a batcher has no more writes under way than it has writers", async () => {
    const { write, writes } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 1, writers: 2, write });
    for (const item of [1, 2, 3, 4]) void batcher.add(item);
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[1], [2]]);
  });

  test("a batcher tells those of a write that failed, and no others", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 2, writers: 1, write });
    const outcomes = Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    await turn();
    await ended(new Error("refused"));
    await ended();
    expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });

  test("a batcher takes the items of workspaces in turns, however many of one wait", async () => {
    const { write, ended } = heldWriter();
    const ofTens = (item: number) => `${Math.floor(item / 10)}` as WorkspaceId;
    const batcher = new Batcher({ workspaceOf: ofTens, maxWeight: 3, writers: 1, write });
    void batcher.add(0);
    await turn();
    for (const item of [11, 12, 13, 14, 15, 21, 22, 31]) void batcher.add(item);
    await ended();
    expect([await ended(), await ended(), await ended()]).toEqual([
      [11, 21, 31],
      [12, 22, 13],
      [14, 15],
    ]);
  });

  test("a batcher lets a workspace that had no turn go first in the next write", async () => {
    const { write, ended } = heldWriter();
    const ofTens = (item: number) => `${Math.floor(item / 10)}` as WorkspaceId;
    const batcher = new Batcher({ workspaceOf: ofTens, maxWeight: 2, writers: 1, write });
    void batcher.add(0);
    await turn();
    for (const item of [11, 12, 21, 22, 31]) void batcher.add(item);
    await ended();
    expect([await ended(), await ended(), await ended()]).toEqual([[11, 21], [31, 12], [22]]);
  });

  test("a batcher lets many small items into a write beside another workspace's heavy ones, which keep their order", async () => {
    const { write, ended } = heldWriter();
    const ofHundreds = (item: number) => `${Math.floor(item / 100)}` as WorkspaceId;
    const weigh = (item: number) => (item < 200 && item >= 100 ? 10 : 1);
    const batcher = new Batcher({ workspaceOf: ofHundreds, weigh, maxWeight: 12, writers: 1, write });
    void batcher.add(0);
    await turn();
    for (const item of [101, 102, 201, 202, 203, 204]) void batcher.add(item);
    await ended();
    expect([await ended(), await ended()]).toEqual([
      [101, 201, 202],
      [102, 203, 204],
    ]);
  });

  test("a batcher lets each workspace have items in one write at a time, and leaves the other writers to others", async () => {
    const { write, writes, ended } = heldWriter();
    const ofTens = (item: number) => `${Math.floor(item / 10)}` as WorkspaceId;
    const batcher = new Batcher({ workspaceOf: ofTens, maxWeight: 2, writers: 2, oneWriteEach: true, write });
    for (const item of [11, 12, 13]) batcher.add(item).catch(() => {});
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([[11, 12]]);
    for (const item of [21, 14, 22, 23]) void batcher.add(item);
    await turn();
    expect(writes.map(({ items }) => items)).toEqual([
      [11, 12],
      [21, 22],
    ]);
    await ended(new Error("refused"));
    expect(writes.map(({ items }) => items)).toEqual([
      [21, 22],
      [13, 14],
    ]);
    await ended();
    expect(writes.map(({ items }) => items)).toEqual([[13, 14], [23]]);
    const settled = batcher.settled();
    await ended();
    await ended();
    await settled;
  });

  test("a write may leave something to do for an item: neither other items nor other writes wait for it, but those of its workspace do", async () => {
    const rest = Promise.withResolvers<number>();
    const writes: number[][] = [];
    const write = async (items: number[]) => {
      writes.push(items);
      return items.map((item) => (item === 11 ? rest.promise : item));
    };
    const ofTens = (item: number) => `${Math.floor(item / 10)}` as WorkspaceId;
    const batcher = new Batcher({ workspaceOf: ofTens, maxWeight: 2, writers: 1, oneWriteEach: true, write });
    const late = batcher.add(11);
    expect(await batcher.add(21)).toBe(21);
    const next = batcher.add(12);
    expect(await batcher.add(22)).toBe(22);
    expect(writes).toEqual([[11, 21], [22]]);
    rest.reject(new Error("refused"));
    await expect(late).rejects.toThrow("refused");
    expect(await next).toBe(12);
    expect(writes).toEqual([[11, 21], [22], [12]]);
  });

  test("a batcher does not take an item whose signal has fired already", async () => {
    const { write, writes } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 1, writers: 1, write });
    await expect(batcher.add(1, AbortSignal.abort(new Error("withdrawn")))).rejects.toThrow("withdrawn");
    await turn();
    expect(writes).toEqual([]);
  });

  test("a batcher does not write an item that was withdrawn before its turn", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 10, writers: 1, write });
    const writing = new AbortController();
    const first = batcher.add(1, writing.signal);
    await turn();
    const waiting = new AbortController();
    const second = batcher.add(2, waiting.signal);
    const third = batcher.add(3);
    waiting.abort(new Error("withdrawn"));
    writing.abort(new Error("too late"));
    await expect(second).rejects.toThrow("withdrawn");
    expect([await ended(), await ended()]).toEqual([[1], [3]]);
    expect(await Promise.all([first, third])).toEqual([10, 30]);
  });

  test("a batcher is settled once all that was added is written", async () => {
    const { write, ended } = heldWriter();
    const batcher = new Batcher({ workspaceOf, maxWeight: 1, writers: 2, write });
    await batcher.settled();
    let settled = false;
    for (const item of [1, 2, 3]) void batcher.add(item);
    void batcher.settled().then(() => {
      settled = true;
    });
    await turn();
    await ended();
    await ended();
    expect(settled).toBe(false);
    await ended();
    await turn();
    expect(settled).toBe(true);
  });

  test("a batcher writes each item once and answers it, whatever comes when", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 3 }),
        async (items, most, writers) => {
          const written: number[] = [];
          const write = async (batch: number[]) => {
            written.push(...batch);
            expect(batch.length === 1 || batch.reduce((sum, item) => sum + item, 0) <= most).toBe(true);
            await setImmediate();
            return batch.map((item) => item * 10);
          };
          const batcher = new Batcher({ workspaceOf, maxWeight: most, writers, weigh: (item: number) => item, write });
          const answers = await Promise.all(items.map((item) => batcher.add(item)));
          expect(answers).toEqual(items.map((item) => item * 10));
          expect(written.sort()).toEqual([...items].sort());
        },
      ),
      { numRuns: 50 },
    );
  });
});

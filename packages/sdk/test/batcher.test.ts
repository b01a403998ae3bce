import { describe, expect, test, vi } from "vitest";
import { type Batched, Batcher } from "../src/batcher.ts";

interface Item {
  readonly name: string;
  readonly kind?: string;
  readonly size?: number;
}

/** A batcher of at most 3 items and a size of 10, whose batches end when the test says so. */
function open() {
  const sent: string[][] = [];
  const ends: (() => void)[] = [];
  const onIdle = vi.fn();
  const batcher = new Batcher<Item, string, "items" | "size">({
    limits: () => ({ items: 3, size: 10 }),
    sizeOf: ({ size = 1 }) => ({ items: 1, size }),
    goesWith: (first, { kind }) => first.kind === kind,
    send: (batch: readonly Batched<Item, string>[]) => {
      sent.push(batch.map(({ item }) => item.name));
      return new Promise((resolve) =>
        ends.push(() => {
          for (const one of batch) one.resolve(`${one.item.name} is done`);
          resolve();
        }),
      );
    },
    onIdle,
  });
  const add = (names: string, options: Omit<Item, "name"> = {}): void => {
    for (const name of names) void batcher.add({ name, ...options });
  };
  return { batcher, add, sent, ends, onIdle };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a batch", () => {
  test("leaves when the promises of the turn have continued", async () => {
    const { add, sent } = open();
    add("a");
    expect(sent).toEqual([]);
    await Promise.resolve();
    expect(sent).toEqual([["a"]]);
  });

  test("has no more items than fit", async () => {
    const { add, sent, ends } = open();
    add("abcd");
    add("e", { size: 10 });
    await turn();
    expect(sent).toEqual([["a", "b", "c"], ["d"]]);
    ends[0]?.();
    await turn();
    expect(sent.at(-1)).toEqual(["e"]);
  });

  test("has one item that is larger than a batch", async () => {
    const { add, sent } = open();
    add("a", { size: 11 });
    add("b");
    await turn();
    expect(sent).toEqual([["a"], ["b"]]);
  });

  test("has items that go together, which may overtake others", async () => {
    const { add, sent } = open();
    add("a", { kind: "x" });
    add("b", { kind: "y" });
    add("c", { kind: "x" });
    await turn();
    expect(sent).toEqual([["a", "c"], ["b"]]);
  });

  test("waits while two are in flight", async () => {
    const { batcher, add, sent, ends, onIdle } = open();
    const first = batcher.add({ name: "a" });
    await turn();
    add("b");
    await turn();
    add("cd");
    await turn();
    expect(sent).toEqual([["a"], ["b"]]);
    ends[0]?.();
    expect(await first).toBe("a is done");
    await turn();
    expect(sent.at(-1)).toEqual(["c", "d"]);
    for (const end of ends) end();
    await turn();
    expect(onIdle).toHaveBeenCalledOnce();
  });
});

describe("an item whose signal is aborted", () => {
  test("is not sent if it waits", async () => {
    const { batcher, sent, onIdle } = open();
    const controller = new AbortController();
    const added = batcher.add({ name: "a" }, controller.signal);
    controller.abort(new Error("Given up."));
    await expect(added).rejects.toThrow("Given up.");
    await turn();
    expect(sent).toEqual([]);
    expect(onIdle).toHaveBeenCalledOnce();
  });

  test("rejects at once if it is in flight", async () => {
    const { batcher, ends } = open();
    const controller = new AbortController();
    const added = batcher.add({ name: "a" }, controller.signal);
    await turn();
    controller.abort(new Error("Given up."));
    await expect(added).rejects.toThrow("Given up.");
    ends[0]?.();
  });

  test("is not added if that was before", async () => {
    const { batcher, sent } = open();
    await expect(batcher.add({ name: "a" }, AbortSignal.abort(new Error("Given up.")))).rejects.toThrow("Given up.");
    await turn();
    expect(sent).toEqual([]);
  });
});

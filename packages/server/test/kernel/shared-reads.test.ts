import { expect, test } from "vitest";
import { SharedReads } from "#kernel";

/** A read that ends when a test ends it. Counts how often it began. */
function reads() {
  const begun: { end: (result: number) => void; fail: (error: Error) => void }[] = [];
  const read = () => new Promise<number>((end, fail) => begun.push({ end, fail }));
  return { begun, read };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("readers that come while a read is under way share the next one, which begins after it", async () => {
  const { begun, read } = reads();
  const shared = new SharedReads<number>();
  const first = shared.read("a", read);
  const others = [shared.read("a", read), shared.read("a", read)];
  await settled();
  expect(begun).toHaveLength(1);
  begun[0]?.end(1);
  expect(await first).toBe(1);
  await settled();
  expect(begun).toHaveLength(2);
  const late = shared.read("a", read);
  begun[1]?.end(2);
  expect(await Promise.all(others)).toEqual([2, 2]);
  await settled();
  begun[2]?.end(3);
  expect([await late, begun.length]).toEqual([3, 3]);
});

test("reads of another thing do not wait", async () => {
  const { begun, read } = reads();
  const shared = new SharedReads<number>();
  void shared.read("a", read);
  const other = shared.read("b", read);
  begun[1]?.end(2);
  expect(await other).toBe(2);
});

test("a read that fails fails for those who share it, and the next one begins all the same", async () => {
  const { begun, read } = reads();
  const shared = new SharedReads<number>();
  const first = shared.read("a", read);
  const second = shared.read("a", read);
  begun[0]?.fail(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await settled();
  begun[1]?.end(2);
  expect(await second).toBe(2);
  const third = shared.read("a", read);
  begun[2]?.end(3);
  expect(await third).toBe(3);
});

import { expect, test } from "vitest";
import { FairQueue } from "#kernel";

/** A queue whose work goes on until it is told to end. */
function makeQueue({ maxConcurrent = 1, maxWaiting = 4 } = {}) {
  const queue = new FairQueue({ maxConcurrent, maxWaiting, message: "Too many." });
  const started: string[] = [];
  const refused: string[] = [];
  const ends: (() => void)[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const add = async (of: string, name: string) => {
    const work = () => {
      started.push(name);
      return new Promise<void>((end) => ends.push(end));
    };
    queue.run(of, work).catch((error) => {
      expect(error).toMatchObject({ code: "UNAVAILABLE", headers: { "Retry-After": expect.any(String) } });
      refused.push(name);
    });
    await settle();
  };
  const end = async () => {
    ends.shift()?.();
    await settle();
  };
  return { started, refused, add, end };
}

test("one with many waits as long as another with one", async () => {
  const { started, add, end } = makeQueue();
  for (const name of ["a1", "a2", "a3", "a4"]) await add("a", name);
  await add("b", "b1");
  for (let n = 0; n < 5; n += 1) await end();
  expect(started).toEqual(["a1", "a2", "b1", "a3", "a4"]);
});

test("when too many wait, the longest line loses its last one, and nobody else is refused", async () => {
  const { started, refused, add, end } = makeQueue();
  for (const name of ["a1", "a2", "a3", "a4", "a5", "a6"]) await add("a", name);
  expect(refused).toEqual(["a6"]);
  await add("b", "b1");
  await add("c", "c1");
  expect(refused).toEqual(["a6", "a5", "a4"]);
  // All have as many, or one less: there is no room for a second one.
  await add("b", "b2");
  expect(refused).toEqual(["a6", "a5", "a4", "b2"]);
  for (let n = 0; n < 6; n += 1) await end();
  expect(started).toEqual(["a1", "a2", "b1", "c1", "a3"]);
});

test("as many run at once as may, also after one has failed", async () => {
  const { started, add, end } = makeQueue({ maxConcurrent: 2 });
  for (const name of ["1", "2", "3", "4"]) await add("a", name);
  expect(started).toEqual(["1", "2"]);
  await end();
  expect(started).toEqual(["1", "2", "3"]);
  await end();
  await end();
  await end();
  await add("a", "5");
  await add("a", "6");
  await add("a", "7");
  expect(started).toEqual(["1", "2", "3", "4", "5", "6"]);
});

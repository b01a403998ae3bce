import { expect, test } from "vitest";
import { SlowRetries } from "#kernel";
import { lockWaits } from "../harness/lock-waits.ts";

/** Retries end when `end` says how. What is retried has a name and a version, such as "a1". */
function slowRetries(...keys: string[]) {
  const begun: string[] = [];
  const shared = lockWaits();
  let retrying = Promise.withResolvers<boolean>();
  const slow = new SlowRetries<string, string>({
    name: "test",
    lockWaits: shared,
    retry: (one) => {
      begun.push(one);
      retrying = Promise.withResolvers<boolean>();
      return retrying.promise;
    },
  });
  for (const key of keys) slow.add(key, `${key}1`);
  const end = async (how: "slow" | "in time") => {
    retrying.resolve(how === "slow");
    await new Promise(setImmediate);
  };
  return { slow, begun, shared, end };
}

test("one at a time is retried, until none takes too long, and those that do come after the others", async () => {
  const { slow, begun, end } = slowRetries("a", "b", "c");
  const running = slow.run();
  await slow.run();
  expect(begun).toEqual(["a1"]);
  await end("slow");
  await end("in time");
  expect([slow.has("a"), slow.has("b"), slow.size]).toEqual([true, false, 2]);
  await end("slow");
  await end("in time");
  await end("in time");
  await running;
  expect([begun, slow.size]).toEqual([["a1", "b1", "c1", "a1", "c1"], 0]);
});

test("retries take the turns of what waits for locks, one each", async () => {
  const { slow, begun, shared, end } = slowRetries("a");
  const settles = [1, 2].map(() => Promise.withResolvers<void>());
  const settle = (at: number) => shared.run("settle", () => settles[at]?.promise ?? expect.fail());
  const first = settle(0);
  const running = slow.run();
  const second = settle(1);
  expect(begun).toEqual([]);
  settles[0]?.resolve();
  await first;
  await end("slow");
  expect(begun).toEqual(["a1"]);
  settles[1]?.resolve();
  await second;
  await end("in time");
  await running;
  expect(begun).toEqual(["a1", "a1"]);
});

test("what is added again comes last, and what is replaced keeps its place", async () => {
  const { slow, begun, end } = slowRetries("a", "b", "c");
  slow.add("a", "a2");
  slow.replace("b", "b2");
  slow.replace("d", "d1");
  const running = slow.run();
  slow.replace("b", "b3");
  await end("slow");
  for (const _ of ["c", "a", "b"]) await end("in time");
  await running;
  expect(begun).toEqual(["b2", "c1", "a2", "b3"]);
});

test("what is not kept is retried no more, even if its last retry was under way", async () => {
  const { slow, begun, end } = slowRetries("a", "b", "c");
  const running = slow.run();
  slow.keepOnly(new Set(["b"]));
  await end("slow");
  expect([slow.has("a"), slow.has("c")]).toEqual([false, false]);
  await end("in time");
  await running;
  expect(begun).toEqual(["a1", "b1"]);
});

test("a stop waits for a retry that is under way, and none begins afterwards", async () => {
  const { slow, begun, end } = slowRetries("a", "b");
  const running = slow.run();
  const ended: string[] = [];
  const stopping = slow.stop().then(() => ended.push("stop"));
  await new Promise(setImmediate);
  expect(ended).toEqual([]);
  await end("slow");
  await Promise.all([stopping, running]);
  await slow.run();
  expect(begun).toEqual(["a1"]);
});

test("a stop waits for no turn", async () => {
  const { slow, begun, shared } = slowRetries("a");
  const settle = Promise.withResolvers<void>();
  const settling = shared.run("settle", () => settle.promise);
  const running = slow.run();
  await slow.stop();
  settle.resolve();
  await Promise.all([settling, running]);
  expect(begun).toEqual([]);
});

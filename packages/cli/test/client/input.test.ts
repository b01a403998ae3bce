import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { untilAborted } from "../../src/bulk/input.ts";

test("items of an input that were read are not kept in memory", async () => {
  const read: WeakRef<Uint8Array>[] = [];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 50; n += 1) yield new Uint8Array(1_000);
  }
  const input = untilAborted(chunks(), new AbortController().signal);
  for (let n = 0; n < 50; n += 1) read.push(new WeakRef((await input.next()).value as Uint8Array));
  await setImmediate();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  expect(read.filter((one) => one.deref() !== undefined).length).toBeLessThan(5);
  expect(await input.next()).toMatchObject({ done: true });
});

test("an input that is waited for ends when its signal is aborted", async () => {
  async function* never(): AsyncGenerator<Uint8Array> {
    await new Promise(() => {});
    yield new Uint8Array();
  }
  const controller = new AbortController();
  const next = untilAborted(never(), controller.signal).next();
  controller.abort(new Error("Stopped."));
  await expect(next).rejects.toThrow("Stopped.");
});

import { describe, expect, test } from "vitest";
import { turn } from "../../src/workflow/turn.ts";

/** A program that goes on for a while without anything but promises. */
async function goOn(done: { is: boolean }): Promise<void> {
  for (let at = 0; at < 100; at += 1) await null;
  done.is = true;
}

describe("a turn", () => {
  test("ends when promises bring about nothing more", async () => {
    const done = { is: false };
    void goOn(done);
    await turn();
    expect(done.is).toBe(true);
  });

  test("also if it begins outside of a promise", async () => {
    const done = { is: false };
    const isDone = await new Promise<boolean>((resolve) => {
      process.nextTick(() => {
        void goOn(done);
        void turn().then(() => resolve(done.is));
      });
    });
    expect(isDone).toBe(true);
  });

  test("many in a row, of several runs, let the event loop go on", async () => {
    let loops = 0;
    let isOver = false;
    const count = () => {
      loops += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const run = async () => {
      for (let at = 0; at < 100; at += 1) await turn();
    };
    await Promise.all([run(), run(), run(), run()]);
    isOver = true;
    // 400 turns, of which 16 come in a row, and then one of each run with the event loop.
    expect(loops).toBeGreaterThan(15);
  });
});

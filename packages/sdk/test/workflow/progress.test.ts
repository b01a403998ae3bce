import { workflow } from "@tidemill/sdk";
import { testWorkflow } from "@tidemill/sdk/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ProgressSender } from "../../src/worker/progress-sender.ts";
import { done, MemoryRun } from "./memory-journal.ts";

describe("run.progress", () => {
  test("of what the journal has is not said again", async () => {
    const said: unknown[] = [];
    const run = new MemoryRun(
      async ({ step, run: { progress } }) => {
        progress(0);
        await step.run("a", () => 1);
        progress(1);
        await Promise.all([step.run("b", () => 2).then(() => progress("b")), step.run("c", () => 3).then(() => progress("c"))]);
        progress(2);
        await step.run("d", () => 4);
        progress(3);
      },
      { journal: [done("a"), done("b"), done("c")] },
    );
    run.host = { ...run.host, progress: (value) => said.push(value) };
    expect(await run.execute()).toMatchObject({ outcome: "completed" });
    expect(said).toEqual(["c", 2, 3]);
  });

  test("in a test is listed, without what cannot be sent", async () => {
    const tested = workflow({ id: "tested" }, async ({ step, run }) => {
      run.progress({ done: 0, at: new Date(0) });
      await step.run("a", () => 1);
      run.progress("x".repeat(5_000));
      run.progress(undefined);
      run.progress(1n);
      run.progress(new Set([1]));
      await step.run("b", () => 2);
      run.progress({ done: 2 });
    });
    const { status, progress } = await testWorkflow(tested, { crash: "afterEveryStep" });
    expect({ status, progress }).toEqual({ status: "completed", progress: [{ done: 0, at: "1970-01-01T00:00:00.000Z" }, { done: 2 }] });
  });
});

describe("the progress of a run is sent", () => {
  afterEach(() => void vi.useRealTimers());

  const senderOf = (send = async (_: unknown): Promise<void> => {}) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const sent: unknown[] = [];
    const sender = new ProgressSender((value) => {
      sent.push(value);
      return send(value);
    });
    return { sender, sent };
  };

  test("about once a second, the newest of what was said", async () => {
    const { sender, sent } = senderOf();
    for (let ms = 0; ms < 2_500; ms += 10) {
      sender.set(ms);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(sent).toEqual([90, 1_090, 2_090]);
    expect(sender.end()).toEqual({ progress: 2_490 });
  });

  test("with steps that are stored meanwhile, in place of a call of its own", async () => {
    const { sender, sent } = senderOf();
    sender.set(1);
    expect([sender.take(), sender.take()]).toEqual([{ progress: 1 }, {}]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent).toEqual([]);
  });

  test("though a call fails, and no more after the end", async () => {
    const { sender, sent } = senderOf(() => Promise.reject(new Error("no")));
    sender.set(1);
    await vi.advanceTimersByTimeAsync(100);
    sender.set(2);
    await vi.advanceTimersByTimeAsync(1_000);
    sender.end();
    sender.set(3);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent).toEqual([1, 2]);
  });
});

import { setImmediate } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { LoopTime, runSynchronously, type SlicedWork, WorkDroppedError, type WorkspaceId } from "#kernel";

const LONG = 100_000;
const [a, b] = ["a", "b"] as WorkspaceId[] as [WorkspaceId, WorkspaceId];

/** Holds the event loop for longer than a slice. */
function holdLoop(): void {
  const untilMs = performance.now() + 5;
  while (performance.now() < untilMs);
}

/** Work of as many slices. Each notes its name. */
function* slices(name: string, count: number, notes: string[]): SlicedWork<string> {
  for (let slice = 1; slice <= count; slice += 1) {
    notes.push(name);
    holdLoop();
    yield;
  }
  return name;
}

describe("the event loop's time", () => {
  test.each([1, LONG])("work that ends in its first slice is done at once, on %i characters", (characters) => {
    expect(new LoopTime().run(a, characters, slices("short", 0, []))).toBe("short");
  });

  test("a workspace's works are done one after the other", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    await Promise.all(["a1", "a2", "a3"].map((name) => loopTime.run(a, LONG, slices(name, 2, notes))));
    expect(notes.join(" ")).toBe("a1 a1 a2 a2 a3 a3");
  });

  test("works are done one after the other though one was dropped before its turn", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const before = loopTime.run(a, LONG, slices("before", 1, []));
    const dropped = slices("dropped", 1, notes);
    const gone = expect(loopTime.run(a, LONG, dropped)).rejects.toThrow(WorkDroppedError);
    await before;
    loopTime.drop(dropped);
    await gone;
    const works = [a, b].map((workspace) => loopTime.run(workspace, LONG, slices(String(workspace), 3, notes)));
    let turns = 0;
    for (let ended = false; !ended; turns += 1) {
      await setImmediate();
      ended = notes.length === 6;
    }
    await Promise.all(works);
    expect(turns).toBeGreaterThanOrEqual(5);
  });

  test("work whose result nobody wants any more is dropped at once", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const first = loopTime.run(a, LONG, slices("first", 2, notes));
    const work = slices("dropped", 1, notes);
    const dropped = loopTime.run(a, LONG, work);
    loopTime.drop(work);
    expect(loopTime.waiting).toBe(1);
    await expect(dropped).rejects.toThrow(WorkDroppedError);
    await first;
    expect(notes).toEqual(["first", "first"]);
    expect(loopTime.waiting).toBe(0);
  });

  test("work that is dropped after its first slice frees at once what it holds", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const work = (function* () {
      try {
        yield* slices("slice", 2, notes);
      } finally {
        notes.push("freed");
      }
    })();
    const dropped = loopTime.run(a, LONG, work);
    loopTime.drop(work);
    expect(notes).toEqual(["slice", "freed"]);
    await expect(dropped).rejects.toThrow(WorkDroppedError);
  });

  test("work that is dropped rejects its promise, also if it fails to free what it holds", async () => {
    const loopTime = new LoopTime();
    const work = (function* () {
      try {
        yield* slices("slice", 2, []);
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: this is the case that is tested.
        throw new Error("It cannot be freed.");
      }
    })();
    const dropped = loopTime.run(a, LONG, work);
    const rejected = expect(dropped).rejects.toThrow(WorkDroppedError);
    expect(() => loopTime.drop(work)).toThrow("It cannot be freed.");
    await rejected;
    expect(loopTime.waiting).toBe(0);
  });

  test("long work runs in slices, between which the event loop does other things", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const done = loopTime.run(a, LONG, slices("long", 3, notes));
    for (let turn = 0; turn < 2; turn += 1) {
      notes.push("other");
      await setImmediate();
    }
    await done;
    expect(notes).toEqual(["long", "other", "long", "other", "long"]);
    expect(loopTime.waiting).toBe(0);
  });

  test("workspaces take turns, however many works one has", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const works = ["a1", "a2", "a3", "a4"].map((name) => loopTime.run(a, LONG, slices(name, 2, notes)));
    works.push(loopTime.run(b, LONG, slices("b1", 2, notes)));
    await Promise.all(works);
    expect(notes.filter((name) => name === "b1")).toHaveLength(2);
    expect(notes.lastIndexOf("b1")).toBeLessThan(6);
  });

  test("many works that come at once do not hold the event loop together", async () => {
    const notes: string[] = [];
    const loopTime = new LoopTime();
    const works = Array.from({ length: 20 }, (_, index) => loopTime.run(a, LONG, slices(`${index}`, 1, notes)));
    expect(notes).toHaveLength(1);
    await Promise.all(works);
    expect(notes).toHaveLength(20);
  });

  test("a slice waits while connections come in, but not for ever", async ({ onTestFinished }) => {
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    onTestFinished(() => clock.mockRestore());
    let done = 0;
    const loopTime = new LoopTime();
    const work = loopTime.run(
      a,
      LONG,
      (function* () {
        for (; done < 3; done += 1) {
          nowMs += 5;
          yield;
        }
      })(),
    );
    const acceptOne = async () => {
      loopTime.accepted();
      await setImmediate();
    };
    await setImmediate();
    expect(done).toBe(1);
    for (let turn = 0; turn < 3; turn += 1) await acceptOne();
    expect(done).toBe(1);
    nowMs += 50;
    await acceptOne();
    expect(done).toBe(2);
    await work;
  });

  test("work that fails rejects, and the next goes on", async () => {
    const loopTime = new LoopTime();
    const failing = function* (): SlicedWork<never> {
      holdLoop();
      yield;
      throw new Error("broken");
    };
    const [failed, next] = await Promise.allSettled([loopTime.run(a, LONG, failing()), loopTime.run(a, LONG, slices("next", 1, []))]);
    expect(failed).toMatchObject({ status: "rejected" });
    expect(next).toMatchObject({ value: "next" });
  });

  test("work that is known to be small runs to its end", () => {
    expect(runSynchronously(slices("small", 2, []))).toBe("small");
  });
});

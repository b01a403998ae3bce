import type { WorkspaceId } from "../ids.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";

/** Work that takes long: it yields at least every millisecond or so, and returns its result. */
export type SlicedWork<Result> = Generator<void, Result, void>;

interface Task {
  readonly workspaceId: WorkspaceId;
  readonly work: SlicedWork<unknown>;
  readonly reject: (error: Error) => void;
  /** Continues for one slice. Returns whether the work is done. */
  readonly advance: () => boolean;
}

/** The work was dropped before its end, because nobody wants its result. */
export class WorkDroppedError extends Error {
  override readonly name = "WorkDroppedError";
}

/** How long the event loop is held at a time. Milliseconds. */
const SLICE_MS = 4;
/** For how long no slice runs while connections come in. Milliseconds. */
const MAX_WITHHELD_MS = 50;
/** Work on up to this many characters is not worth counting. */
const MAX_SHORT = 2 * 1024;

/**
 * Shares the event loop's time among tasks that take long: large bodies, responses with many secrets. Each task runs in slices, and
 * workspaces take turns. Between two slices the event loop does everything else.
 */
export class LoopTime {
  readonly #line = new RoundRobinQueue<Task>();
  readonly #tasks = new Map<SlicedWork<unknown>, Task>();
  /** Time spent on first slices in this turn of the event loop. */
  #spentMs = 0;
  #sliceEndedMs = 0;
  #isPlanned = false;
  #isAccepting = false;

  /** How many tasks are unfinished. */
  get waiting(): number {
    return this.#line.size;
  }

  /**
   * A connection was accepted. Node accepts one in each turn of the event loop, so if hundreds come at once, each would wait for a slice,
   * and so would those that come after them. The next slice is left to a later turn, for a limited time.
   */
  accepted(): void {
    this.#isAccepting = true;
  }

  /**
   * Runs `work` to its end. Work on few characters, or that ends in its first slice while no other work waits, is done synchronously: then
   * the result is not a promise, and an error of the work is thrown.
   *
   * @param characters the length of the text that is processed
   */
  run<Result>(workspaceId: WorkspaceId, characters: number, work: SlicedWork<Result>): Result | Promise<Result> {
    if (characters <= MAX_SHORT) return runSynchronously(work);
    const first = this.#line.size === 0 && this.#spentMs < SLICE_MS && !this.#isAccepting ? this.#runFirstSlice(work) : null;
    return first ? first.value : this.#runLater(workspaceId, work);
  }

  #runFirstSlice<Result>(work: SlicedWork<Result>): IteratorReturnResult<Result> | null {
    if (this.#spentMs === 0) {
      setImmediate(() => {
        this.#spentMs = 0;
      });
    }
    const startedMs = performance.now();
    try {
      return advanceFor(work, SLICE_MS);
    } finally {
      this.#spentMs += performance.now() - startedMs;
    }
  }

  /** Drops work that has not ended: nobody wants its result any more. Its `finally` runs, and its promise rejects with a `WorkDroppedError`. */
  drop(work: SlicedWork<unknown>): void {
    const task = this.#tasks.get(work);
    if (!task) return;
    this.#end(task);
    // Rejected first: a `finally` may throw.
    task.reject(new WorkDroppedError("The result of the work is no longer wanted."));
    work.return(undefined);
  }

  #runLater<Result>(workspaceId: WorkspaceId, work: SlicedWork<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const advance = () => {
        try {
          const end = advanceFor(work, SLICE_MS);
          if (end) resolve(end.value);
          return end !== null;
        } catch (error) {
          reject(error);
          return true;
        }
      };
      const task = { workspaceId, work, advance, reject };
      this.#tasks.set(work, task);
      this.#line.add(task);
      this.#planTurn();
    });
  }

  /** Work may be dropped before its turn. Then the turn stays planned. */
  #planTurn(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#turn);
  }

  #end(task: Task): void {
    this.#tasks.delete(task.work);
    this.#line.delete(task);
  }

  readonly #turn = (): void => {
    this.#isPlanned = false;
    const [task] = this.#line.firstOfEach();
    if (!task) return;
    const isWithheld = this.#isAccepting && performance.now() - this.#sliceEndedMs < MAX_WITHHELD_MS;
    this.#isAccepting = false;
    if (isWithheld) {
      this.#planTurn();
      return;
    }
    // A workspace's tasks are done one after the other, because each task that has begun holds memory.
    if (task.advance()) this.#end(task);
    this.#line.moveWorkspaceBack(task.workspaceId);
    this.#sliceEndedMs = performance.now();
    if (this.#line.size > 0) this.#planTurn();
  };
}

/** Runs work to its end synchronously. For work that is known to be small. */
export function runSynchronously<Result>(work: SlicedWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Continues the work for about this long. Returns null if it is not done. */
function advanceFor<Result>(work: SlicedWork<Result>, ms: number): IteratorReturnResult<Result> | null {
  const untilMs = performance.now() + ms;
  do {
    const step = work.next();
    if (step.done) return step;
  } while (performance.now() < untilMs);
  return null;
}

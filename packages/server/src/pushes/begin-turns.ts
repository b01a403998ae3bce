import { setTimeout } from "node:timers/promises";
import { type Clock, FairQueue, isTimeout, type WorkspaceId } from "#kernel";

/**
 * The maximum number of groups that begin at the same time, one per workspace. So executions whose runs are locked leave connections to
 * others, such as settles.
 */
const MAX_GROUPS = 2;
/** After a group that took too long beside the turns, the next one comes after so many times as long: it keeps a connection from others. */
const SLOW_REST = 3;

/** Executions of a workflow that begin together. */
interface Group {
  readonly workspaceId: WorkspaceId;
  /** Tells the workflow and its version apart from others. */
  readonly name: string;
}

/**
 * The turns of workspaces to begin executions. A group that took too long, because its runs are locked, begins beside the turns from then on,
 * until it does not take too long: so it holds up only others that are slow, too.
 */
export class BeginTurns {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #rest: (ms: number) => Promise<unknown>;
  readonly #turns = new FairQueue({ maxConcurrent: MAX_GROUPS });
  readonly #slowTurns = new FairQueue({ maxConcurrent: 1 });
  /** The names of groups that took too long last. */
  readonly #slow = new Set<string>();

  /** @param rest waits for so many milliseconds */
  constructor(clock: Pick<Clock, "elapsedMs">, rest = (ms: number): Promise<unknown> => setTimeout(ms, undefined, { ref: false })) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** Begins a group when it is its turn. */
  run<Begun>(group: Group, begin: () => Promise<Begun>): Promise<Begun> {
    if (this.#slow.has(group.name)) return this.#runSlow(group, begin);
    return this.#turns.run(group.workspaceId, async () => {
      const begun = begin();
      if (await timesOut(begun)) this.#slow.add(group.name);
      return begun;
    });
  }

  async #runSlow<Begun>({ workspaceId, name }: Group, begin: () => Promise<Begun>): Promise<Begun> {
    const result = Promise.withResolvers<Begun>();
    void this.#slowTurns.run(workspaceId, async () => {
      const beganMs = this.#clock.elapsedMs();
      const begun = begin();
      result.resolve(begun);
      if (await timesOut(begun)) await this.#rest((this.#clock.elapsedMs() - beganMs) * SLOW_REST);
      else this.#slow.delete(name);
    });
    return result.promise;
  }
}

const timesOut = (work: Promise<unknown>): Promise<boolean> => work.then(() => false, isTimeout);

import { LRUCache } from "lru-cache";
import { FairQueue, isTimeout, type LockWaits, type WorkspaceId } from "#kernel";

/**
 * The maximum number of groups that begin at the same time, one per workspace. So executions whose runs are locked leave connections to
 * others, such as settles.
 */
const MAX_GROUPS = 2;
/** The maximum number of slow groups that are known. Others take too long once more before they begin beside the turns. */
const MAX_SLOW = 1_000;

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
  readonly #lockWaits: LockWaits;
  readonly #turns = new FairQueue({ maxConcurrent: MAX_GROUPS });
  readonly #slowTurns = new FairQueue({ maxConcurrent: 1 });
  /** The names of groups that took too long last. Those of deleted workflows and replaced versions do not come again. */
  readonly #slow = new LRUCache<string, true>({ max: MAX_SLOW });

  constructor(lockWaits: LockWaits) {
    this.#lockWaits = lockWaits;
  }

  /** Whether groups of this name begin beside the turns, which may take long. */
  isSlow(name: string): boolean {
    return this.#slow.has(name);
  }

  /** Begins a group when it is its turn. */
  run<Begun>(group: Group, begin: () => Promise<Begun>): Promise<Begun> {
    if (this.isSlow(group.name)) return this.#runSlow(group, begin);
    return this.#turns.run(group.workspaceId, async () => {
      const begun = begin();
      if (await timesOut(begun)) this.#slow.set(group.name, true);
      return begun;
    });
  }

  #runSlow<Begun>({ workspaceId, name }: Group, begin: () => Promise<Begun>): Promise<Begun> {
    const beginSlow = async () => {
      const begun = begin();
      if (await timesOut(begun)) this.#slow.set(name, true);
      else this.#slow.delete(name);
      return begun;
    };
    return this.#slowTurns.run(workspaceId, () => this.#lockWaits.run("begin", beginSlow));
  }
}

const timesOut = (work: Promise<unknown>): Promise<boolean> => work.then(() => false, isTimeout);

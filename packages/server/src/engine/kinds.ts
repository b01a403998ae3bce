import type { Claim, JobKey } from "#jobs";
import type { Db } from "#kernel";
import type { LaneKey } from "#lanes";
import type { AttemptResult, Verdict } from "./judge.ts";

/** An attempt under way. An aborted attempt has the result `withdrawn`, unless it must not be repeated. */
export interface Attempt {
  readonly result: Promise<AttemptResult>;
  abort(): void;
}

/** Memory of the node for what an attempt reads in addition to the payload of its claim. It is released when the attempt has ended. */
export interface AttemptMemory {
  /** Takes memory for this many characters. Returns false, and takes none, when the workspace has no room left. */
  tryTake(characters: number): boolean;
}

/** Delivers jobs of one kind. The dispatcher decides when. */
export interface Deliverer {
  start(claim: Claim, memory: AttemptMemory): Attempt;
  /**
   * Ends attempts that take too long. Called every 100 ms while there are any.
   *
   * @param stalledMs for how long the node was stalled since the last call: that time does not count
   */
  enforceDeadlines(stalledMs: number): void;
}

/** The outcome of a claim that was still valid when its settle was written. */
export interface ClaimOutcome {
  readonly claim: Claim;
  readonly verdict: Verdict;
}

/** Settles outcomes that change little, by one statement. */
export interface SingleStatementSettle {
  /** Whether the statement may settle an outcome. */
  accepts(outcome: ClaimOutcome): boolean;
  /** Returns for each outcome whether it is settled. For the others, nothing is changed. */
  settle(db: Db, outcomes: readonly ClaimOutcome[]): Promise<readonly boolean[]>;
}

/** A lane with new jobs. Workers serve it, unless `served` says that nodes do. */
export interface EnqueuedLane extends LaneKey {
  readonly served?: "push";
}

/** What differs by kind of job. Claims, limits, leases and settles are the same for all kinds. */
export interface JobKind {
  readonly name: string;
  /** Delivers the jobs of lanes that nodes serve. */
  readonly deliverer: Deliverer;
  /**
   * Whether callers see its jobs: in history, in counts, and in the dead-letter queue when they fail for good. Jobs of other kinds leave
   * nothing but what `settled` writes.
   */
  readonly recorded: boolean;
  /**
   * Jobs that `settled` may change in addition to the claim's own. They are locked together with the jobs that are settled, in one order.
   */
  readonly related?: (claim: Claim) => readonly JobKey[];
  /** Whether an attempt that may have begun must not be repeated. If its node is lost, the attempt has failed. */
  readonly once?: true;
  /**
   * Whether an attempt is spared if its program cannot have begun, because no connection could be made or the request itself was refused:
   * the program may be about to start. Its lane's circuit opens as usual.
   */
  readonly sparesUnbegun?: true;
  /**
   * Writes what outcomes change in addition to their jobs, in the transaction that settles these jobs. It must wait for nothing but the
   * database. If it cannot write an outcome, the job goes to the dead-letter queue.
   *
   * @param enqueued called with each lane in which jobs were enqueued. Nodes or workers that serve the lane look for them after the commit
   */
  readonly settled?: (tx: Db, outcomes: readonly ClaimOutcome[], enqueued: (lane: EnqueuedLane) => void) => Promise<void>;
  /** Settles most outcomes without a transaction, instead of `settled`. A transaction settles the others. */
  readonly inOneStatement?: SingleStatementSettle;
  /**
   * Finds which of these outcomes, which programs reported, are already stored. For kinds whose attempts are not recorded. Default: none
   * are.
   */
  readonly findStored?: (db: Db, outcomes: readonly ClaimOutcome[]) => Promise<readonly boolean[]>;
  /** Whether `settled` locks jobs of other kinds. Its outcomes have transactions of their own: so all transactions lock in the same order. */
  readonly locksOthers?: true;
}

/** The registry of the kinds of job that this node knows. */
export class JobKinds {
  readonly #kinds: ReadonlyMap<string, JobKind>;
  /** The kinds that this node knows. */
  readonly names: readonly string[];
  /** Kinds whose outcomes change nothing but the job. Jobs of all other kinds are settled one by one, by a node that knows their kind. */
  readonly plainKinds: readonly string[];
  /** Kinds whose attempts must not be repeated once they may have begun. */
  readonly onceKinds: readonly string[];

  constructor(kinds: readonly JobKind[]) {
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
    this.names = kinds.map(({ name }) => name);
    this.onceKinds = kinds.filter(({ once }) => once).map(({ name }) => name);
    this.plainKinds = kinds.filter(({ recorded, settled }) => recorded && !settled).map(({ name }) => name);
  }

  /** Null for a kind that only newer nodes know. */
  of({ kind }: Pick<Claim, "kind">): JobKind | null {
    return this.#kinds.get(kind) ?? null;
  }

  *[Symbol.iterator](): Iterator<JobKind> {
    yield* this.#kinds.values();
  }
}

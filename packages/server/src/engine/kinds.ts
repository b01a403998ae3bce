import type { Claim } from "#jobs";
import type { Db } from "#kernel";
import type { AttemptResult, Verdict } from "./retry.ts";

/** An attempt under way. One that is aborted has the result `withdrawn`. */
export interface Attempt {
  readonly result: Promise<AttemptResult>;
  abort(): void;
}

/** Starts attempts. The dispatcher knows when; a deliverer knows how. */
export interface Deliverer {
  start(claim: Claim): Attempt;
  /** Ends attempts that take too long. Called every tenth of a second while there are any. */
  sweep(): void;
}

/** What became of a claim that was still true when its settle was written. */
export interface Outcome {
  readonly claim: Claim;
  readonly verdict: Verdict;
}

/** What differs by kind of job. Everything else about a job is the engine's, and the same for all kinds. */
export interface JobKind {
  readonly name: string;
  /** Delivers the jobs of lanes that nodes serve. */
  readonly deliverer: Deliverer;
  /**
   * Whether its jobs are records for callers: kept in history, counted, and in the dead-letter queue once they fail for good. Jobs of
   * other kinds leave nothing behind but what `settled` writes.
   */
  readonly recorded: boolean;
  /** What outcomes change besides their jobs, written in the transaction that settles these. It must not wait for anything but the database. */
  readonly settled?: (tx: Db, outcomes: readonly Outcome[]) => Promise<void>;
}

/** The kinds of job that this node knows: the one place where they are registered. */
export class JobKinds {
  readonly #kinds: ReadonlyMap<string, JobKind>;
  /** Kinds whose jobs are settled one by one even when nodes are lost with them. */
  readonly settledKinds: readonly string[];

  constructor(kinds: readonly JobKind[]) {
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]));
    this.settledKinds = kinds.filter(({ recorded, settled }) => !recorded || settled).map(({ name }) => name);
  }

  /** Null for a kind that only newer nodes know. */
  of({ kind }: Pick<Claim, "kind">): JobKind | null {
    return this.#kinds.get(kind) ?? null;
  }

  *[Symbol.iterator](): Iterator<JobKind> {
    yield* this.#kinds.values();
  }
}

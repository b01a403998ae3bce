import type { Clock, Db } from "#kernel";
import { type SamplePosition, sampleOldestAcrossWorkspaces } from "./store/sample-oldest.ts";

/** The most queues in one statement. */
const CHUNK = 500;
/** A statement that is not the last of its sample is followed by a rest of this many times its own length. */
const REST = 4;

/**
 * Samples the longest waiting job of each queue once a minute: the first node that asks does it for all. In one statement, 100,000 queues
 * would take longer than a statement may. A sample that takes longer than a minute is finished before the next one.
 */
export class OldestSampler {
  readonly #db: Db;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #chunk: number;
  #position: SamplePosition | null = null;

  constructor(db: Db, clock: Pick<Clock, "elapsedMs">, chunk = CHUNK) {
    this.#db = db;
    this.#clock = clock;
    this.#chunk = chunk;
  }

  /** Samples some queues. Returns the wait until the next ones in milliseconds; undefined: there are none before the next sample. */
  async pass(): Promise<number | undefined> {
    const beganMs = this.#clock.elapsedMs();
    this.#position = await sampleOldestAcrossWorkspaces(this.#db, this.#position, this.#chunk);
    return this.#position ? Math.max(1, REST * (this.#clock.elapsedMs() - beganMs)) : undefined;
  }
}

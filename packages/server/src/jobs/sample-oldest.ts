import type { Clock, Db } from "#kernel";
import { type SamplePosition, sampleOldestAcrossWorkspaces } from "./store/sample-oldest.ts";

/** The maximum number of lanes in one statement. */
const CHUNK = 500;
/** After a statement that is not the last one of its sample, the loop pauses for this many times the statement's duration. */
const PAUSE_FACTOR = 4;

/**
 * Samples the longest waiting job of each queue once a minute, on one node for all. Each statement visits some of the queues: with 100,000
 * queues, one statement would exceed the statement timeout. A sample that takes longer than a minute still ends before the next one begins,
 * on any node.
 */
export class OldestSampler {
  readonly #db: Db;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #maxLanes: number;
  #lanes: number;
  #position: SamplePosition | null = null;

  constructor(db: Db, clock: Pick<Clock, "elapsedMs">, chunk = CHUNK) {
    this.#db = db;
    this.#clock = clock;
    this.#maxLanes = chunk;
    this.#lanes = chunk;
  }

  /**
   * Visits some lanes. Returns the wait until the next ones in milliseconds; undefined: this node has none before the next sample. A
   * statement that failed may have taken too long, so the rest of the sample visits half as many lanes at a time.
   */
  async pass(): Promise<number | undefined> {
    const beganMs = this.#clock.elapsedMs();
    try {
      this.#position = await sampleOldestAcrossWorkspaces(this.#db, this.#position, this.#lanes);
    } catch (error) {
      this.#lanes = Math.max(1, Math.floor(this.#lanes / 2));
      throw error;
    }
    if (this.#position) return Math.max(1, PAUSE_FACTOR * (this.#clock.elapsedMs() - beganMs));
    this.#lanes = this.#maxLanes;
    return undefined;
  }
}

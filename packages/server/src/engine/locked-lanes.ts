import { type EmitEvent, type Service, tolerate } from "#kernel";
import type { LaneKey } from "#lanes";

export interface LockedLanesOptions<Left extends LaneKey> {
  /** Moves the jobs of a lane, and waits for their keys. */
  readonly move: (left: Left) => Promise<unknown>;
  readonly emit: EmitEvent;
}

/**
 * Moves jobs that batches left because their concurrency keys were locked, one lane at a time, and waits for these: keys that are always locked again
 * when a batch looks would never be free. Meanwhile batches move others. What cannot be moved is left to them, too.
 */
export class LockedLanes<Left extends LaneKey> implements Service {
  readonly #options: LockedLanesOptions<Left>;
  #moving: Promise<void> | null = null;
  #last = 0;
  #isStopped = false;

  constructor(options: LockedLanesOptions<Left>) {
    this.#options = options;
  }

  start(): void {}

  /** Moves no more lanes, and waits for one that is being moved. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#moving;
  }

  /** Moves one of these lanes, in turns, unless one is being moved. */
  add(left: readonly Left[]): void {
    if (this.#moving || this.#isStopped) return;
    const inOrder = left.toSorted((one, other) => one.laneId - other.laneId);
    const lane = inOrder.find(({ laneId }) => laneId > this.#last) ?? inOrder[0];
    if (!lane) return;
    this.#last = lane.laneId;
    const { move, emit } = this.#options;
    const { workspaceId, laneId } = lane;
    this.#moving = tolerate(
      () => move(lane),
      (error) => emit("locked_jobs_retried", { workspaceId, laneId, error }),
    ).finally(() => {
      this.#moving = null;
    });
  }
}

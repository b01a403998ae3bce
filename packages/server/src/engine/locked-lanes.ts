import { type EmitEvent, isTimeout, type LockWaits, type Service, SlowRetries } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

export interface LockedLanesOptions<Left extends LaneKey> {
  /** Names what moves the jobs, among all that wait for locks. */
  readonly name: string;
  /** Moves the jobs of a lane, and waits for their keys. */
  readonly move: (left: Left) => Promise<unknown>;
  readonly lockWaits: LockWaits;
  readonly emit: EmitEvent;
}

/**
 * Moves jobs that batches left because their concurrency keys were locked, one lane at a time, and waits for these: keys that are always locked again
 * when a batch looks would never be free. Meanwhile batches move others. A lane that takes too long is from then on moved beside the others, until it
 * does not take too long. What cannot be moved for another reason is left to batches.
 */
export class LockedLanes<Left extends LaneKey> implements Service {
  readonly #options: LockedLanesOptions<Left>;
  readonly #slow: SlowRetries<LaneId, Left>;
  #moving: Promise<void> | null = null;
  #last = 0;
  #isStopped = false;

  constructor(options: LockedLanesOptions<Left>) {
    this.#options = options;
    this.#slow = new SlowRetries({ ...options, retry: (lane) => this.#move(lane) });
  }

  start(): void {}

  /** Moves no more lanes, and waits for those that are being moved. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#moving, this.#slow.stop()]);
  }

  /** Moves one of these lanes, in turns, unless one is being moved. Lanes that took too long have turns of their own. */
  add(left: readonly Left[]): void {
    for (const lane of left) this.#slow.replace(lane.laneId, lane);
    if (this.#moving || this.#isStopped) return;
    const inOrder = left.filter(({ laneId }) => !this.#slow.has(laneId)).toSorted((one, other) => one.laneId - other.laneId);
    const lane = inOrder.find(({ laneId }) => laneId > this.#last) ?? inOrder[0];
    if (!lane) return;
    this.#last = lane.laneId;
    this.#moving = this.#moveFirst(lane).finally(() => {
      this.#moving = null;
    });
  }

  async #moveFirst(lane: Left): Promise<void> {
    if (!(await this.#move(lane))) return;
    this.#slow.add(lane.laneId, lane);
    void this.#slow.run();
  }

  /** Returns whether it took too long. */
  async #move(lane: Left): Promise<boolean> {
    const { move, emit } = this.#options;
    try {
      await move(lane);
      return false;
    } catch (error) {
      emit("locked_jobs_retried", { workspaceId: lane.workspaceId, laneId: lane.laneId, error });
      return isTimeout(error);
    }
  }
}

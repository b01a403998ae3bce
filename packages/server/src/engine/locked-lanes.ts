import { type EmitEvent, isTimeout, type LockWaits, type Service } from "#kernel";
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
  /** Lanes that took too long last. The longest waiting first. */
  readonly #slow = new Map<LaneId, Left>();
  #moving: Promise<void> | null = null;
  #movingSlow: Promise<void> | null = null;
  #isMovingSlowOnes = false;
  #last = 0;
  #isStopped = false;

  constructor(options: LockedLanesOptions<Left>) {
    this.#options = options;
  }

  start(): void {}

  /** Moves no more lanes, and waits for those that are being moved. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#moving, this.#movingSlow]);
  }

  /** Moves one of these lanes, in turns, unless one is being moved. Lanes that took too long have turns of their own. */
  add(left: readonly Left[]): void {
    for (const lane of left) if (this.#slow.has(lane.laneId)) this.#slow.set(lane.laneId, lane);
    if (this.#moving || this.#isStopped) return;
    const inOrder = left.filter(({ laneId }) => !this.#slow.has(laneId)).toSorted((one, other) => one.laneId - other.laneId);
    const lane = inOrder.find(({ laneId }) => laneId > this.#last) ?? inOrder[0];
    if (!lane) return;
    this.#last = lane.laneId;
    this.#moving = this.#move(lane).finally(() => {
      this.#moving = null;
    });
  }

  async #move(lane: Left): Promise<void> {
    const { move, emit } = this.#options;
    const { workspaceId, laneId } = lane;
    const error = await move(lane).then(
      () => null,
      (error: unknown) => error,
    );
    this.#slow.delete(laneId);
    if (error === null) return;
    emit("locked_jobs_retried", { workspaceId, laneId, error });
    if (!isTimeout(error)) return;
    this.#slow.set(laneId, lane);
    void this.#moveSlowOnes();
  }

  async #moveSlowOnes(): Promise<void> {
    if (this.#isMovingSlowOnes) return;
    this.#isMovingSlowOnes = true;
    while (this.#slow.size > 0 && !this.#isStopped) await this.#options.lockWaits.run(this.#options.name, () => this.#moveSlowOne());
    this.#isMovingSlowOnes = false;
  }

  async #moveSlowOne(): Promise<void> {
    const [lane] = this.#slow.values();
    if (!lane || this.#isStopped) return;
    this.#movingSlow = this.#move(lane);
    await this.#movingSlow;
  }
}

import type { WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { PolledLane } from "./poll.ts";

/** A queue is looked up again, and its jobs are looked for again, after this long: a message from another node may have been lost. */
const FRESH_MS = 30_000;
/** Lanes that no one asks for are forgotten beyond this number. */
const MAX_IDLE = 10_000;

/** The lanes that workers ask this node for, by id and by the name of their queue. */
export class PolledLanes {
  readonly #byId = new Map<LaneId, PolledLane>();
  readonly #byName = new Map<string, PolledLane>();

  /** The lane of a queue, if it was looked up lately. */
  fresh(workspaceId: WorkspaceId, queue: string, nowMs: number): PolledLane | undefined {
    const lane = this.#byName.get(nameKey(workspaceId, queue));
    return lane && nowMs - lane.foundMs < FRESH_MS ? lane : undefined;
  }

  byId(laneId: LaneId): PolledLane | undefined {
    return this.#byId.get(laneId);
  }

  /** A queue was looked up: jobs may wait in it that this node was not told of. */
  found(key: LaneKey, queue: string, nowMs: number): PolledLane {
    let lane = this.#byId.get(key.laneId);
    if (!lane) {
      lane = {
        ...key,
        queue,
        polls: new Set(),
        mayHaveJobs: true,
        wakes: 0,
        limited: false,
        payloadLength: null,
        foundMs: nowMs,
        timer: undefined,
      };
      this.#byId.set(key.laneId, lane);
      this.#byName.set(nameKey(key.workspaceId, queue), lane);
      this.#forgetIdle(nowMs);
    }
    lane.foundMs = nowMs;
    lane.mayHaveJobs = true;
    lane.wakes += 1;
    return lane;
  }

  delete(laneId: LaneId): PolledLane | undefined {
    const lane = this.#byId.get(laneId);
    if (!lane) return undefined;
    clearTimeout(lane.timer);
    this.#byId.delete(laneId);
    const key = nameKey(lane.workspaceId, lane.queue);
    if (this.#byName.get(key) === lane) this.#byName.delete(key);
    return lane;
  }

  *[Symbol.iterator](): Iterator<PolledLane> {
    yield* this.#byId.values();
  }

  #forgetIdle(nowMs: number): void {
    if (this.#byId.size <= MAX_IDLE) return;
    for (const lane of this.#byId.values()) if (lane.polls.size === 0 && nowMs - lane.foundMs >= FRESH_MS) this.delete(lane.laneId);
  }
}

const nameKey = (workspaceId: WorkspaceId, queue: string): string => `${workspaceId}/${queue}`;

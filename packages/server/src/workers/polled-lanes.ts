import type { WorkspaceId } from "#kernel";
import type { LaneId, LaneKey, LaneKind } from "#lanes";
import type { PolledLane } from "./poll.ts";

/** A queue is looked up again, and its jobs are looked for again, after this long: a message from another node may have been lost. */
const FRESH_MS = 30_000;
/** Lanes that no one asks for are forgotten beyond this number. */
const MAX_IDLE = 10_000;

const nameKey = ({ workspaceId, kind, name }: Pick<PolledLane, "workspaceId" | "kind" | "name">): string =>
  `${workspaceId}/${kind}/${name}`;

/** The lanes that workers ask this node for, by id and by the name of their queue. */
export class PolledLanes {
  readonly #byId = new Map<LaneId, PolledLane>();
  readonly #byName = new Map<string, PolledLane>();

  /** The lane of a queue or a workflow, if it was looked up lately. */
  fresh(workspaceId: WorkspaceId, kind: LaneKind, name: string, nowMs: number): PolledLane | undefined {
    const lane = this.#byName.get(nameKey({ workspaceId, kind, name }));
    return lane && nowMs - lane.foundMs < FRESH_MS ? lane : undefined;
  }

  byId(laneId: LaneId): PolledLane | undefined {
    return this.#byId.get(laneId);
  }

  /** A queue was looked up. It may have jobs of which this node knows nothing. */
  found(key: LaneKey, kind: LaneKind, name: string, nowMs: number): PolledLane {
    let lane = this.#byId.get(key.laneId);
    if (!lane) {
      lane = {
        ...key,
        kind,
        name,
        polls: new Set(),
        mayHaveJobs: true,
        wakes: 0,
        limited: false,
        payloadLength: null,
        foundMs: nowMs,
        timer: undefined,
      };
      this.#byId.set(key.laneId, lane);
      this.#byName.set(nameKey(lane), lane);
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
    const name = nameKey(lane);
    if (this.#byName.get(name) === lane) this.#byName.delete(name);
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

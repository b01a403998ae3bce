import type { WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { PolledLane } from "./poll.ts";

/**
 * A queue is looked up again, and its jobs are looked for again, by the first call after this long: a message from another node may have
 * been lost. Idle workers of the SDK call every 28 s (`MAX_WAIT_SECONDS`). With a longer period, only every other call would look the queue
 * up.
 */
const FRESH_MS = 25_000;
/** Beyond this number, lanes that no worker polls are forgotten. Lanes of older versions of a workflow are forgotten immediately. */
const MAX_IDLE = 10_000;

/** A queue, or a workflow and the version of the code with which workers poll for its runs. Empty: none. */
interface LaneName extends Pick<PolledLane, "kind" | "name"> {
  readonly version?: string;
}

const nameKey = ({ workspaceId, kind, name }: Pick<PolledLane, "workspaceId" | "kind" | "name">): string =>
  `${workspaceId}/${kind}/${name}`;

/** The lanes that workers poll on this node, by id and by name. A workflow has one for each version of the code with which workers poll. */
export class PolledLanes {
  readonly #byId = new Map<LaneId, PolledLane[]>();
  /** The id that a name had when it was looked up last. */
  readonly #idOf = new Map<string, LaneId>();

  /** The lane of a queue or a workflow, if it was looked up lately. */
  fresh(workspaceId: WorkspaceId, name: LaneName, nowMs: number): PolledLane | undefined {
    const lane = this.#find(workspaceId, name);
    return lane && nowMs - lane.foundMs < FRESH_MS ? lane : undefined;
  }

  /**
   * Looks lanes up again whose last look-up is too old. In the meantime they count as fresh, so that of several concurrent calls only one
   * looks a lane up. The others trust what is known about it. If the look-up fails, for example because the queue was deleted, only the
   * next calls find out. A lane that the node does not know yet is looked up by each call, because it may have just been created.
   */
  async lookUpAgain(workspaceId: WorkspaceId, names: readonly LaneName[], nowMs: number, lookUp: () => Promise<void>): Promise<void> {
    const lanes = names.flatMap((name) => this.#find(workspaceId, name) ?? []);
    for (const lane of lanes) lane.foundMs = nowMs;
    try {
      await lookUp();
    } catch (error) {
      for (const lane of lanes) lane.foundMs = Number.NEGATIVE_INFINITY;
      throw error;
    }
  }

  #find(workspaceId: WorkspaceId, { kind, name, version = "" }: LaneName): PolledLane | undefined {
    return this.byName({ workspaceId, kind, name }).find((one) => one.version === version);
  }

  byName(name: Pick<PolledLane, "workspaceId" | "kind" | "name">): readonly PolledLane[] {
    const laneId = this.#idOf.get(nameKey(name));
    return laneId === undefined ? [] : this.byId(laneId);
  }

  byId(laneId: LaneId): readonly PolledLane[] {
    return this.#byId.get(laneId) ?? [];
  }

  /** Whether the lane is still known. It may have been forgotten since a call looked it up. */
  has(lane: PolledLane): boolean {
    return this.byId(lane.laneId).includes(lane);
  }

  /** A queue was looked up. It may have jobs that this node does not know about. */
  found({ workspaceId, laneId }: LaneKey, { kind, name, version = "" }: LaneName, nowMs: number): PolledLane {
    let lane = this.byId(laneId).find((one) => one.version === version);
    if (!lane) {
      lane = {
        workspaceId,
        laneId,
        kind,
        name,
        version,
        filter: null,
        polls: new Set(),
        mayHaveJobs: true,
        wakes: 0,
        limited: false,
        hasBacklog: false,
        payloadLength: null,
        busySinceMs: null,
        foundMs: nowMs,
        timer: undefined,
      };
      this.#forgetIdle(this.byId(laneId), nowMs);
      this.#byId.set(laneId, [...this.byId(laneId), lane]);
      this.#idOf.set(nameKey(lane), laneId);
      if (this.#byId.size > MAX_IDLE) this.#forgetIdle([...this], nowMs);
    }
    lane.foundMs = nowMs;
    lane.mayHaveJobs = true;
    lane.wakes += 1;
    return lane;
  }

  /** Forgets everything about a lane. */
  delete(laneId: LaneId): readonly PolledLane[] {
    const lanes = this.byId(laneId);
    for (const lane of lanes) this.#forget(lane);
    return lanes;
  }

  #forget(lane: PolledLane): void {
    clearTimeout(lane.timer);
    const others = this.byId(lane.laneId).filter((one) => one !== lane);
    if (others.length > 0) {
      this.#byId.set(lane.laneId, others);
      return;
    }
    this.#byId.delete(lane.laneId);
    const name = nameKey(lane);
    if (this.#idOf.get(name) === lane.laneId) this.#idOf.delete(name);
  }

  *[Symbol.iterator](): Iterator<PolledLane> {
    for (const lanes of this.#byId.values()) yield* lanes;
  }

  #forgetIdle(lanes: readonly PolledLane[], nowMs: number): void {
    for (const lane of lanes) if (lane.polls.size === 0 && nowMs - lane.foundMs >= FRESH_MS) this.#forget(lane);
  }
}

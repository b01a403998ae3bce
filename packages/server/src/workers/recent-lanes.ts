import { LIMITS } from "@tidemill/contract";
import type { LaneId, LaneKind } from "#lanes";
import type { KnownWorker } from "./known-worker.ts";
import type { PolledLane } from "./poll.ts";

/** As many as one call may ask for. A worker that asks for others in turn is recorded with the first ones. */
const MAX_LANES = LIMITS.workQueues + LIMITS.workWorkflows;
/**
 * A call may wait for longer than a period. So a lane that a worker does not ask for in a period is still recorded at the end of it, but not
 * at the end of the next.
 */
const KEPT_PERIODS = 2;

export type RecentLane = Pick<PolledLane, "laneId" | "kind" | "name">;

/** The names of queues and workflows. */
interface LaneNames {
  readonly queues: readonly string[];
  readonly workflows: readonly string[];
}

/**
 * The lanes that workers asked for lately. A worker that is busy asks for some of its queues at a time, so what it asks for is the union of
 * its last calls. Each worker keeps only ids; the names are kept once for all.
 */
export class RecentLanes {
  readonly #lanes = new Map<LaneId, Omit<RecentLane, "laneId"> & { readonly period: number }>();
  #period = 0;

  /**
   * A worker asks for lanes.
   *
   * @returns whether any of them is new for it
   */
  add({ asked }: KnownWorker, lanes: readonly RecentLane[]): boolean {
    if (asked.size >= MAX_LANES) this.#forgetOld(asked);
    let hasNew = false;
    for (const { laneId, kind, name } of lanes) {
      const isNew = !asked.has(laneId);
      if (isNew && asked.size >= MAX_LANES) continue;
      hasNew ||= isNew;
      asked.set(laneId, this.#period);
      if (this.#lanes.get(laneId)?.period !== this.#period) this.#lanes.set(laneId, { kind, name, period: this.#period });
    }
    return hasNew;
  }

  /** The names of what a worker asked for lately. Forgets what it asked for before. */
  namesOf({ asked }: KnownWorker): LaneNames {
    this.#forgetOld(asked);
    return namesOf([...asked.keys()].flatMap((laneId) => this.#lanes.get(laneId) ?? []));
  }

  beginPeriod(): void {
    this.#period += 1;
    for (const [laneId, { period }] of this.#lanes) if (this.#isOld(period)) this.#lanes.delete(laneId);
  }

  #forgetOld(asked: KnownWorker["asked"]): void {
    for (const [laneId, period] of asked) if (this.#isOld(period)) asked.delete(laneId);
  }

  #isOld(period: number): boolean {
    return period < this.#period - KEPT_PERIODS;
  }
}

export function namesOf(lanes: readonly Pick<RecentLane, "kind" | "name">[]): LaneNames {
  // A queue that was deleted and made again is another lane.
  const named = (kind: LaneKind) => [...new Set(lanes.filter((lane) => lane.kind === kind).map(({ name }) => name))];
  return { queues: named("queue"), workflows: named("workflow") };
}

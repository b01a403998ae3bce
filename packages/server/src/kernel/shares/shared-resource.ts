import type { WorkspaceId } from "../ids.ts";
import { type ProblemError, unavailable } from "../problem.ts";
import { setStallTolerantTimeout } from "../stall-tolerant-timeout.ts";
import { FairShare } from "./fair-share.ts";
import { RESOURCES, type ResourceName } from "./resources.ts";
import { RoundRobinQueue } from "./round-robin-queue.ts";

/** A caller that waits for a turn. */
interface Waiting {
  readonly workspaceId: WorkspaceId;
  readonly units: number;
  /** The room that suffices for the units. */
  readonly minRoom: number;
  readonly resolve: () => void;
}

/** How long to wait for a turn before the resource is refused. Milliseconds. */
const MAX_WAIT_MS = 5_000;

export interface SharedResourceOptions {
  readonly name: ResourceName;
  /** The total, in units of the resource, such as connections or bytes. */
  readonly capacity: number;
  readonly maxWaitMs?: number;
  /** Called for each refusal. */
  readonly onRefused?: (name: ResourceName, workspaceId: WorkspaceId) => void;
}

/**
 * A resource of a node that workspaces share. Callers take units immediately or wait for a turn, and return them. Workspaces take turns, so
 * that a workspace with many waiting callers delays another by one turn only.
 */
export class SharedResource extends FairShare {
  readonly name: ResourceName;
  readonly #maxWaitMs: number;
  readonly #onRefused: SharedResourceOptions["onRefused"];
  readonly #line = new RoundRobinQueue<Waiting>();

  constructor({ name, capacity, maxWaitMs = MAX_WAIT_MS, onRefused }: SharedResourceOptions) {
    super(capacity);
    this.name = name;
    this.#maxWaitMs = maxWaitMs;
    this.#onRefused = onRefused;
  }

  /** How many wait for a turn. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Takes units if the workspace has room for them. When nobody holds any, it may take more than usual. */
  tryTake(workspaceId: WorkspaceId, units = 1, minRoom = units): boolean {
    if (minRoom > this.roomFor(workspaceId) && this.total > 0) return false;
    this.take(workspaceId, units);
    return true;
  }

  /**
   * Takes units if the workspace has room for them.
   *
   * @throws UNAVAILABLE
   */
  takeOrRefuse(workspaceId: WorkspaceId, units = 1): void {
    if (!this.tryTake(workspaceId, units)) throw this.refusal(workspaceId);
  }

  /**
   * Takes units immediately, or when it is the workspace's turn.
   *
   * @param minRoom the room that suffices. It is less than `units` for something indivisible, which must not be refused for its size
   * @throws UNAVAILABLE when that takes too long
   */
  takeInTurn(workspaceId: WorkspaceId, units = 1, minRoom = units): Promise<void> | undefined {
    if (!this.#line.hasWorkspace(workspaceId) && this.tryTake(workspaceId, units, minRoom)) return undefined;
    return new Promise((resolve, reject) => {
      const waiting = {
        workspaceId,
        units,
        minRoom,
        resolve: () => {
          timer.clear();
          resolve();
        },
      };
      const timer = setStallTolerantTimeout(() => {
        this.#line.delete(waiting);
        reject(this.refusal(workspaceId));
        // The workspace's next caller may need less.
        this.#serve();
      }, this.#maxWaitMs);
      this.#line.add(waiting);
    });
  }

  /** Runs `work` with units that it takes in turn. */
  async use<Result>(workspaceId: WorkspaceId, work: () => Promise<Result>, units = 1): Promise<Result> {
    await this.takeInTurn(workspaceId, units);
    try {
      return await work();
    } finally {
      this.release(workspaceId, units);
    }
  }

  override release(workspaceId: WorkspaceId, units = 1): void {
    super.release(workspaceId, units);
    this.#serve();
  }

  /** The error of a request that gets no units. It says who uses them: the workspace, or all workspaces together. */
  refusal(workspaceId: WorkspaceId): ProblemError {
    this.#onRefused?.(this.name, workspaceId);
    const what = `this node's ${RESOURCES[this.name]}`;
    const isMostlyTheirs = this.heldBy(workspaceId) > this.total / 2;
    if (this.roomFor(workspaceId) > 0 && !isMostlyTheirs) return unavailable(`Not enough of ${what} is free. Try again later.`);
    return unavailable(`${this.free > 0 ? "Your workspace's share" : "All"} of ${what} is in use. Try again later.`);
  }

  #serve(): void {
    for (let served = true; served && this.#line.size > 0 && this.free > 0; ) {
      served = false;
      for (const waiting of this.#line.firstOfEach()) {
        if (!this.tryTake(waiting.workspaceId, waiting.units, waiting.minRoom)) continue;
        this.#line.finish(waiting);
        waiting.resolve();
        served = true;
        break;
      }
    }
  }
}

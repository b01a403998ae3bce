import type { WorkspaceId } from "../ids.ts";

/** A workspace may hold at most this many times what is free. */
const TIMES_FREE = 3;

/**
 * A resource of a node that workspaces share, in units such as attempts or bytes. This class only counts: a user of the resource asks for
 * room, takes units, and returns them.
 *
 * A workspace may hold at most three times what is free, so that there is always room for the next one: one workspace alone gets three
 * quarters, two get three sevenths each (the dynamic threshold of shared buffers, Choudhury and Hahne 1998). This works without anybody
 * returning units early, which hanging callbacks would not do. If there are fewer than four units, one workspace may hold all of them.
 */
export class FairShare {
  readonly capacity: number;
  readonly #held = new Map<WorkspaceId, number>();
  #total = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** Units that all workspaces hold. */
  get total(): number {
    return this.#total;
  }

  /** Units that nobody holds. 0 when more are held than there are. */
  get free(): number {
    return Math.max(0, this.capacity - this.#total);
  }

  /** Units that the workspace holds. */
  heldBy(workspaceId: WorkspaceId): number {
    return this.#held.get(workspaceId) ?? 0;
  }

  /** How many more units the workspace may take. A workspace that holds nothing may take one unit as long as any is free. */
  roomFor(workspaceId: WorkspaceId): number {
    const held = this.#held.get(workspaceId) ?? 0;
    const room = Math.ceil((TIMES_FREE * this.free - held) / (TIMES_FREE + 1));
    return Math.max(held === 0 ? Math.min(1, this.free) : 0, Math.min(room, this.free));
  }

  take(workspaceId: WorkspaceId, units: number): void {
    this.#held.set(workspaceId, (this.#held.get(workspaceId) ?? 0) + units);
    this.#total += units;
  }

  release(workspaceId: WorkspaceId, units: number): void {
    const left = (this.#held.get(workspaceId) ?? 0) - units;
    if (left > 0) this.#held.set(workspaceId, left);
    else this.#held.delete(workspaceId);
    this.#total -= units;
  }
}

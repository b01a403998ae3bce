import type { WorkspaceId } from "../ids.ts";

/** A workspace may hold at most this many times what is free. */
const TIMES_FREE = 3;

/**
 * A resource of a node that workspaces share, in units such as attempts or bytes. This only counts: a user of the resource asks for
 * room, takes units, and gives them back.
 *
 * A workspace may hold three times what is free and no more, so that there is always room for the next one: alone three quarters, two
 * of them three sevenths each (the dynamic threshold of shared buffers, Choudhury and Hahne 1998). Nobody needs to give anything back
 * for that, which callbacks that hang would not do. Of fewer than four units one workspace may hold all.
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

  /** How many more units the workspace may take. One that holds nothing may take one as long as any is free. */
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

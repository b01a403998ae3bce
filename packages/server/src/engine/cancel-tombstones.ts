import type { Claim } from "#jobs";
import type { JobId, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** Longer than any claim runs: a statement takes at most a minute. Milliseconds. */
const KEPT_MS = 120_000;

/**
 * Remembers what was cancelled recently. A claim that returns may bring jobs that were cancelled after it was sent: those must not
 * start (I4).
 */
export class CancelTombstones {
  readonly #at = new Map<JobId | LaneId | WorkspaceId, { number: number; ms: number }>();
  #count = 0;

  /** A point in time for `holds`: taken when a claim is sent. */
  get now(): number {
    return this.#count;
  }

  add(cancelled: JobId | LaneId | WorkspaceId, nowMs: number): void {
    for (const [old, { ms }] of this.#at) {
      if (nowMs - ms < KEPT_MS) break;
      this.#at.delete(old);
    }
    this.#at.delete(cancelled);
    this.#at.set(cancelled, { number: ++this.#count, ms: nowMs });
  }

  /** Whether the job, its lane or its workspace was cancelled after `since`. */
  holds({ id, laneId, workspaceId }: Claim, since: number): boolean {
    const after = (cancelled: JobId | LaneId | WorkspaceId) => (this.#at.get(cancelled)?.number ?? 0) > since;
    return after(id) || after(laneId) || after(workspaceId);
  }
}

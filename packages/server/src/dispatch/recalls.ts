import type { JobId, WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { Claim } from "./claim.ts";

/** No statement that claims runs longer than this. Milliseconds. */
const KEPT_MS = 60_000;

/**
 * What was cancelled while a claim that may bring it was under way. A claim asks, when it is answered, for what came after it
 * was sent: those of its jobs must not start (I4).
 */
export class Recalls {
  readonly #at = new Map<JobId | LaneId | WorkspaceId, { number: number; ms: number }>();
  #count = 0;

  /** A claim that is sent now. */
  get now(): number {
    return this.#count;
  }

  add(recalled: JobId | LaneId | WorkspaceId, nowMs: number): void {
    for (const [old, { ms }] of this.#at) {
      if (nowMs - ms < KEPT_MS) break;
      this.#at.delete(old);
    }
    this.#at.delete(recalled);
    this.#at.set(recalled, { number: ++this.#count, ms: nowMs });
  }

  /** Whether the job was recalled after `since`. */
  holds({ id, laneId, workspaceId }: Claim, since: number): boolean {
    const after = (recalled: JobId | LaneId | WorkspaceId) => (this.#at.get(recalled)?.number ?? 0) > since;
    return after(id) || after(laneId) || after(workspaceId);
  }
}

import type { WorkspaceId } from "#kernel";
import type { LaneShare } from "./lane-shares.ts";

/** Claims whose jobs have not all begun. No two of them are for the same workspace. */
export class ClaimsUnderWay {
  readonly #claims = new Map<readonly LaneShare[], ReadonlySet<WorkspaceId>>();

  get size(): number {
    return this.#claims.size;
  }

  /** How many jobs they may bring. */
  get jobs(): number {
    let jobs = 0;
    for (const shares of this.#claims.keys()) for (const { take } of shares) jobs += take;
    return jobs;
  }

  has(workspaceId: WorkspaceId): boolean {
    for (const workspaces of this.#claims.values()) if (workspaces.has(workspaceId)) return true;
    return false;
  }

  begin(shares: readonly LaneShare[]): void {
    this.#claims.set(shares, new Set(shares.map(({ lane }) => lane.workspaceId)));
  }

  end(shares: readonly LaneShare[]): void {
    this.#claims.delete(shares);
  }
}

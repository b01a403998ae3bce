import type { RecordKind } from "@tidemill/contract";
import type { WorkspaceId } from "./ids.ts";

/** Reports that records of a workspace have changed, after the commit. It costs one look-up while nobody follows the workspace. */
export type ReportChange = (workspaceId: WorkspaceId, kinds: readonly RecordKind[]) => void;

/**
 * Modules report here what they have changed. `live/` passes it on to readers who follow the workspace. Without a follower, a report is
 * dropped.
 */
export class Changes {
  readonly #followers = new Map<WorkspaceId, (kinds: readonly RecordKind[]) => void>();

  readonly report: ReportChange = (workspaceId, kinds) => this.#followers.get(workspaceId)?.(kinds);

  /** From now on, `onChange` gets the changes of the workspace. A workspace has one follower: the newest. */
  follow(workspaceId: WorkspaceId, onChange: (kinds: readonly RecordKind[]) => void): void {
    this.#followers.set(workspaceId, onChange);
  }

  unfollow(workspaceId: WorkspaceId): void {
    this.#followers.delete(workspaceId);
  }
}

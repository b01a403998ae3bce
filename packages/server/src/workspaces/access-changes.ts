import { fragment, type Uuid, type WorkspaceId } from "#kernel";
import type { WorkspaceChanged } from "./workspace.ts";

/**
 * Selects the workspace and the key of each change that was committed after the snapshot `last.snapshot` (migration 0054). Uses index
 * access_change_xid. Rows of a restored database may have transaction ids that this server has not assigned yet: they are left out until it
 * has.
 */
export const ACCESS_CHANGES_SINCE_LAST = fragment`
  select concat_ws(' ', changed_workspace, changed_key) from access_change
  where xid >= pg_snapshot_xmin(last.snapshot) and not pg_visible_in_snapshot(xid, last.snapshot)
    and xid < pg_snapshot_xmax(pg_current_snapshot())`;

/** Reports each change, as `ACCESS_CHANGES_SINCE_LAST` selects it. */
export function reportAccessChanges(changes: readonly string[], report: WorkspaceChanged): void {
  for (const change of changes) {
    const [workspaceId, keyId = null] = change.split(" ");
    report(workspaceId as WorkspaceId, keyId as Uuid | null);
  }
}

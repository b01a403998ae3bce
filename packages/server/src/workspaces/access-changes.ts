import { fragment, type Uuid, type WorkspaceId } from "#kernel";
import type { WorkspaceChanged } from "./workspace.ts";

/**
 * Selects the workspace and the key of each change that was committed after the snapshot `last.snapshot` (migration 0054). Uses index
 * access_change_xid. Rows of a database that was restored have numbers of transactions of another server: they are soon too old.
 */
export const ACCESS_CHANGES_SINCE_LAST = fragment`
  select concat_ws(' ', changed_workspace, changed_key) from access_change
  where xid >= pg_snapshot_xmin(last.snapshot) and not pg_visible_in_snapshot(xid, last.snapshot) and at > now() - interval '15 minutes'`;

/** Reports each change, as `ACCESS_CHANGES_SINCE_LAST` selects it. */
export function reportAccessChanges(changes: readonly string[], report: WorkspaceChanged): void {
  for (const change of changes) {
    const [workspaceId, keyId = null] = change.split(" ");
    report(workspaceId as WorkspaceId, keyId as Uuid | null);
  }
}

import type { Db, WorkspaceId } from "#kernel";
import { replaceTopics } from "#outbox";
import { findWantedTypes } from "./store.ts";

/**
 * Recomputes which events are stored for a workspace, after one of its webhooks changed. The caller has locked the workspace, so that two
 * changes at once do not miss each other's webhooks.
 */
export const refreshTopics = async (tx: Db, workspaceId: WorkspaceId): Promise<void> => {
  await replaceTopics(tx, workspaceId, await findWantedTypes(tx, workspaceId));
};

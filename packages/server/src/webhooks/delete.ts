import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { type LaneKey, laneNotFound, markLaneDeleted } from "#lanes";
import { lockWorkspace } from "#workspaces";
import { webhookEvent } from "./audit.ts";
import { refreshTopics } from "./topics.ts";
import type { WebhookContext } from "./webhook.ts";

/**
 * Deletes a webhook with its deliveries. Callers see neither any more; a sweep deletes the rows later.
 *
 * @throws NOT_FOUND
 */
export const deleteWebhook = (
  database: Transactional,
  { audit }: Pick<WebhookContext, "audit">,
  actor: Actor,
  name: string,
): Promise<LaneKey> =>
  database.transaction(async (tx) => {
    const { workspaceId } = actor;
    await lockWorkspace(tx, workspaceId);
    const deleted = await markLaneDeleted(tx, workspaceId, "webhook", name);
    if (!deleted) throw await laneNotFound(tx, workspaceId, "webhook", name);
    await refreshTopics(tx, workspaceId);
    await audit.record(tx, webhookEvent(actor, "webhook.deleted", name));
    return { workspaceId, laneId: deleted.id };
  });

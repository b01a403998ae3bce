import type { AuditLog } from "#audit";
import type { EmitEvent } from "#kernel";
import type { LaneKey } from "#lanes";
import { lockWorkspace, SYSTEM } from "#workspaces";
import { webhookEvent } from "./audit.ts";
import { type EndingDeliveries, endFirstDeliveries } from "./end-deliveries.ts";
import { disableIfFailing, findFailingAcrossWorkspaces } from "./store.ts";
import { refreshTopics } from "./topics.ts";

const CHUNK = 100;

interface Disabling extends EndingDeliveries {
  readonly audit: AuditLog;
  readonly emit: EmitEvent;
}

/**
 * Switches off webhooks that have failed for five days without a success, and then ends their deliveries. Source: contract §14.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export async function disableFailingAcrossWorkspaces(disabling: Disabling): Promise<number | undefined> {
  const failing = await findFailingAcrossWorkspaces(disabling.db, CHUNK);
  const failures: unknown[] = [];
  // A webhook that cannot be switched off does not keep those of other workspaces on.
  for (const webhook of failing) await disable(disabling, webhook).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
  return failing.length === CHUNK ? 0 : undefined;
}

async function disable(
  { db, audit, aborter, emit }: Disabling,
  { workspaceId, laneId, name }: LaneKey & { readonly name: string },
): Promise<void> {
  const isDisabled = await db.transaction(async (tx) => {
    await lockWorkspace(tx, workspaceId);
    const disabled = await disableIfFailing(tx, { workspaceId, laneId });
    if (!disabled) return false;
    await refreshTopics(tx, workspaceId);
    const output = { failing_since: disabled.failing_since };
    await audit.record(tx, webhookEvent({ workspaceId, actorId: SYSTEM }, "webhook.disabled", name, { output }));
    return true;
  });
  if (!isDisabled) return;
  emit("webhook_disabled", { workspaceId, webhook: name });
  await endFirstDeliveries({ db, aborter }, { workspaceId, laneId });
}

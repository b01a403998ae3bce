import type { AuditLog } from "#audit";
import type { EmitEvent } from "#kernel";
import { findInTurns, type LaneId, LaneTries } from "#lanes";
import { lockWorkspace, SYSTEM } from "#workspaces";
import { webhookEvent } from "./audit.ts";
import { type EndingDeliveries, endFirstDeliveries } from "./end-deliveries.ts";
import { disableIfFailing, findFailingAcrossWorkspaces, type NamedWebhook } from "./store.ts";
import { refreshTopics } from "./topics.ts";

const CHUNK = 100;

interface Disabling extends EndingDeliveries {
  readonly audit: AuditLog;
  readonly emit: EmitEvent;
}

/** What passes over all webhooks need. */
interface DisablingAll extends Disabling {
  /** Webhooks that could not be switched off in the passes before. */
  readonly failed: Set<LaneId>;
}

/**
 * Switches off webhooks that have failed for five days without a success, and then ends their deliveries. One that cannot be switched off
 * is reported. From then on it comes last, in turns with others, so that it keeps none of these on. Source: contract §14.
 *
 * @returns 0 when there may be more to do, in milliseconds
 * @throws the first failure, when only webhooks are left that fail; UNAVAILABLE when the database is too slow for several
 */
export async function disableFailingAcrossWorkspaces({ failed, ...disabling }: DisablingAll): Promise<number | undefined> {
  const { db, emit } = disabling;
  const { others, again } = await findInTurns(failed, CHUNK, (which, limit) => findFailingAcrossWorkspaces(db, which, limit));
  const tries = new LaneTries<NamedWebhook>(failed, ({ workspaceId, name }, error) =>
    emit("webhook_disable_failed", { workspaceId, webhook: name, error }),
  );
  for (const webhook of [...others, ...again]) await tries.try(webhook, () => disable(disabling, webhook));
  if (others.length === CHUNK) return 0;
  if (tries.failures.length > 0) throw tries.failures[0];
  return undefined;
}

async function disable({ db, audit, aborter, emit }: Disabling, { workspaceId, laneId, name }: NamedWebhook): Promise<void> {
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

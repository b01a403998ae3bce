import type { PatchWebhook } from "@tidemill/contract";
import { resetCircuit } from "#circuits";
import { type EmitEvent, type Transactional, tolerate } from "#kernel";
import { laneNotFound } from "#lanes";
import { lockWorkspace, requireFeature } from "#workspaces";
import { webhookEvent, withoutCredentials } from "./audit.ts";
import { checkWebhook } from "./check.ts";
import { type EndingDeliveries, endFirstDeliveries } from "./end-deliveries.ts";
import { findWebhook, updateWebhook } from "./store.ts";
import { refreshTopics } from "./topics.ts";
import { generateWebhookSecret, type Webhook, type WebhookActor, type WebhookContext } from "./webhook.ts";

/** A changed webhook, and its new secret if there is one. */
interface Patched {
  readonly webhook: Webhook;
  readonly secret: string | null;
}

/**
 * Changes the settings in the request and leaves the others. A change that affects deliveries closes an open circuit. Switching a webhook
 * off cancels its pending deliveries, after that is committed: the first thousands immediately, and the others by a loop.
 *
 * @throws NOT_FOUND; PLAN_REQUIRED to switch one on; VALIDATION_ERROR for a host that may not be reached or an invalid template
 */
export async function patchWebhook(
  database: Transactional,
  { random, audit, guard, aborter, emit }: WebhookContext & Pick<EndingDeliveries, "aborter"> & { readonly emit: EmitEvent },
  actor: WebhookActor,
  name: string,
  request: PatchWebhook,
): Promise<Patched> {
  checkWebhook(guard, request);
  const { workspaceId } = actor;
  const { url, headers, events, enabled, rotate_secret, ...none } = request;
  none satisfies Record<string, never>;
  const patched = await database.transaction(async (tx) => {
    await lockWorkspace(tx, workspaceId);
    const before = await findWebhook(tx, workspaceId, name);
    if (!before) throw await laneNotFound(tx, workspaceId, "webhook", name);
    if (enabled && before.disabled_at !== null) requireFeature(actor.plan, "webhooks");
    const secret = rotate_secret ? generateWebhookSecret(random) : null;
    const settings = { url, headers: headers && JSON.stringify(headers), events, secret: secret ?? undefined, enabled };
    const webhook = await updateWebhook(tx, before, settings);
    if (!webhook) throw await laneNotFound(tx, workspaceId, "webhook", name);
    const lane = { workspaceId, laneId: webhook.id };
    if (url !== undefined || headers || secret || enabled) await resetCircuit(tx, lane);
    await refreshTopics(tx, workspaceId);
    const { rotate_secret: _, ...settingsChanged } = request;
    const input = withoutCredentials(settingsChanged);
    if (Object.keys(settingsChanged).length > 0) await audit.record(tx, webhookEvent(actor, "webhook.updated", name, { input }));
    if (secret) await audit.record(tx, webhookEvent(actor, "webhook.secret_rotated", name));
    return { webhook, secret };
  });
  // The response may have a new secret, and a loop cancels what is left.
  if (enabled === false)
    await tolerate(
      () => endFirstDeliveries({ db: database, aborter }, { workspaceId, laneId: patched.webhook.id }),
      (error) => emit("delivery_cancel_failed", { webhook: name, error }),
    );
  return patched;
}

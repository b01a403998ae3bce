import { TEST_EVENT } from "@tidemill/contract";
import type { Actor } from "#audit";
import { type Db, invalidState, type JobId, type Transactional, toMoment } from "#kernel";
import { type LaneKey, laneNotFound } from "#lanes";
import { requireFeature } from "#workspaces";
import { webhookEvent } from "./audit.ts";
import { bodyOf, type Delivery, deliveryNotFound, readDeliveryId, showDeliveryId, showEventId } from "./delivery.ts";
import { findDelivery, insertEventsAcrossWorkspaces } from "./delivery-store.ts";
import { enqueueDeliveries } from "./make-deliveries.ts";
import { findWebhook } from "./store.ts";
import type { Webhook, WebhookActor, WebhookContext } from "./webhook.ts";

/** A delivery that a caller asked for, and the lane in which its job waits. */
export interface RequestedDelivery {
  readonly delivery: Delivery;
  readonly lane: LaneKey;
}

type Context = Pick<WebhookContext, "ids" | "audit" | "clock">;

/**
 * Sends a test event to a webhook, even if it is switched off.
 *
 * @throws NOT_FOUND; PLAN_REQUIRED
 */
export const testWebhook = (database: Transactional, context: Context, actor: WebhookActor, name: string): Promise<RequestedDelivery> =>
  database.transaction(async (tx) => {
    requireFeature(actor.plan, "webhooks");
    const webhook = await webhookOf(tx, actor, name);
    const { ids, clock, audit } = context;
    const { workspaceId } = actor;
    const eventId = ids.next();
    const timestamp = toMoment(Math.floor(clock.nowMs()));
    const data = JSON.stringify({ webhook: name, message: "This is a test." });
    const body = bodyOf({ id: showEventId(eventId), type: TEST_EVENT, timestamp }, data);
    await insertEventsAcrossWorkspaces(tx, [{ workspaceId, id: eventId, type: TEST_EVENT, body }]);
    const requested = await request(tx, context, webhook, { eventId, body });
    const output = { delivery: showDeliveryId(requested.delivery.id) };
    await audit.record(tx, webhookEvent(actor, "webhook.tested", name, { output }));
    return requested;
  });

/**
 * Delivers the event of an earlier delivery once more, as a delivery of its own.
 *
 * @throws NOT_FOUND; PLAN_REQUIRED; INVALID_STATE while the earlier one is pending
 */
export const replayDelivery = (
  database: Transactional,
  context: Context,
  actor: WebhookActor,
  name: string,
  id: string,
): Promise<RequestedDelivery> =>
  database.transaction(async (tx) => {
    requireFeature(actor.plan, "webhooks");
    const webhook = await webhookOf(tx, actor, name);
    const jobId = readDeliveryId(id);
    const earlier = jobId && (await findDelivery(tx, { workspaceId: actor.workspaceId, laneId: webhook.id }, jobId));
    if (!earlier) throw deliveryNotFound(id, name);
    if (earlier.state === "pending") throw invalidState("pending", ["delivered", "failed", "cancelled"]);
    const requested = await request(tx, context, webhook, { eventId: earlier.event_id, body: earlier.body });
    const output = { delivery: showDeliveryId(requested.delivery.id) };
    await context.audit.record(tx, webhookEvent(actor, "webhook.replayed", name, { input: { delivery: id }, output }));
    return requested;
  });

async function webhookOf(tx: Db, { workspaceId }: Actor, name: string): Promise<Webhook> {
  const webhook = await findWebhook(tx, workspaceId, name);
  if (!webhook) throw await laneNotFound(tx, workspaceId, "webhook", name);
  return webhook;
}

async function request(
  tx: Db,
  { ids }: Context,
  { workspace_id: workspaceId, id: laneId }: Webhook,
  event: { readonly eventId: Delivery["event_id"]; readonly body: string },
): Promise<RequestedDelivery> {
  const lane = { workspaceId, laneId };
  const id = ids.next() as JobId;
  await enqueueDeliveries(tx, [{ ...lane, id, ...event, requested: true }]);
  const delivery = await findDelivery(tx, lane, id);
  if (!delivery) throw new Error("The delivery was not stored.");
  return { delivery, lane };
}

import { DeliveryPath, Delivery as DeliveryRecord, DeliveryWithPayload, ListDeliveries, Page, WebhookPath } from "@tidemill/contract";
import { type Api, JSON_TYPE, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { cutPage, type Db, PAGE_RESPONSE_BYTES, type WorkspaceId } from "#kernel";
import { laneNotFound } from "#lanes";
import { deliveryNotFound, readDeliveryId, showDelivery, showDeliveryId } from "./delivery.ts";
import { findDelivery, listDeliveries } from "./delivery-store.ts";
import { type RequestedDelivery, replayDelivery, testWebhook } from "./request-delivery.ts";
import { type WebhookRoutes, webhookActor } from "./routes.ts";
import { findWebhook } from "./store.ts";

const { tags, security } = routeDefaults("Webhooks");

/** Deliveries of webhooks. Source: contract §14. */
export function mountDeliveries(api: Api, { tenants, waker, ...context }: WebhookRoutes): void {
  const laneOf = async (db: Db, workspaceId: WorkspaceId, name: string) => {
    const webhook = await findWebhook(db, workspaceId, name);
    if (!webhook) throw await laneNotFound(db, workspaceId, "webhook", name);
    return { workspaceId, laneId: webhook.id };
  };
  const begun = ({ delivery, lane }: RequestedDelivery) => {
    waker.wake([lane]);
    return showDelivery(delivery);
  };

  api.post(
    "/v1/webhooks/:name/test",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Send a test event to a webhook",
        description:
          "Makes a delivery of an event of the type `webhook.test`, even to a webhook that is switched off. The response is the delivery, " +
          "which is pending: get it again to see the outcome.",
        operationId: "testWebhook",
        params: WebhookPath,
        response: replies({ 201: DeliveryRecord }, "NOT_FOUND", "PLAN_REQUIRED"),
      },
    },
    async (request, reply) => {
      const actor = webhookActor(request);
      return reply.code(201).send(begun(await testWebhook(tenants.of(actor.workspaceId), context, actor, request.params.name)));
    },
  );

  api.get(
    "/v1/webhooks/:name/deliveries",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List deliveries of a webhook",
        description: "Returns the deliveries of a webhook with their attempts, newest first. They are kept as long as history is.",
        operationId: "listDeliveries",
        params: WebhookPath,
        querystring: ListDeliveries,
        response: replies({ 200: Page(DeliveryRecord) }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const { state, type } = request.query;
      const page = readPage(request.query, readDeliveryId);
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const found = await listDeliveries(db, {
        ...(await laneOf(db, workspaceId, request.params.name)),
        states: state?.split(",") ?? null,
        types: type?.split(",") ?? null,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      return { data: records.map(showDelivery), next_cursor: next && showDeliveryId(next) };
    },
  );

  api.get(
    "/v1/webhooks/:name/deliveries/:id",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a delivery with its body",
        description: "Returns a delivery with its attempts, and the body that it sends.",
        operationId: "getDelivery",
        params: DeliveryPath,
        response: replies({ 200: DeliveryWithPayload }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const { name, id } = request.params;
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const lane = await laneOf(db, workspaceId, name);
      const jobId = readDeliveryId(id);
      const delivery = jobId && (await findDelivery(db, lane, jobId));
      if (!delivery) throw deliveryNotFound(id, name);
      return reply.type(JSON_TYPE).send(`${JSON.stringify(showDelivery(delivery)).slice(0, -1)},"payload":${delivery.body}}`);
    },
  );

  api.post(
    "/v1/webhooks/:name/deliveries/:id/replay",
    {
      config: { access: "write", emptyBody: true },
      schema: {
        tags,
        security,
        summary: "Deliver an event again",
        description:
          "Makes a new delivery of the event of this one, with the same body and event id. `INVALID_STATE` means that this one is pending.",
        operationId: "replayDelivery",
        params: DeliveryPath,
        response: replies({ 201: DeliveryRecord }, "NOT_FOUND", "INVALID_STATE", "PLAN_REQUIRED"),
      },
    },
    async (request, reply) => {
      const actor = webhookActor(request);
      const { name, id } = request.params;
      return reply.code(201).send(begun(await replayDelivery(tenants.of(actor.workspaceId), context, actor, name, id)));
    },
  );
}

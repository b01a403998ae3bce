import {
  CreateWebhook,
  ListWebhooks,
  Page,
  PatchWebhook,
  WebhookPath,
  Webhook as WebhookRecord,
  WebhookWithSecret,
} from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Api, actorOf, nextPage, noContent, openNumber, principalOf, readPage, replies, routeDefaults, sealNumber } from "#http";
import { type EmitEvent, PAGE_RESPONSE_BYTES, type Tenants } from "#kernel";
import { type Aborter, type LaneId, laneNotFound, type Waker } from "#lanes";
import { readCursorKey } from "#workspaces";
import { createWebhook } from "./create.ts";
import { deleteWebhook } from "./delete.ts";
import { patchWebhook } from "./patch.ts";
import { findWebhook, listWebhooks } from "./store.ts";
import { showWebhook, type WebhookActor, type WebhookContext } from "./webhook.ts";

export interface WebhookRoutes extends WebhookContext {
  readonly tenants: Tenants;
  readonly waker: Waker;
  readonly aborter: Aborter;
  readonly emit: EmitEvent;
}

const { tags, security } = routeDefaults("Webhooks");

export function webhookActor(request: FastifyRequest): WebhookActor {
  const { workspaceId, plan } = principalOf(request);
  return { workspaceId, plan, actorId: actorOf(request) };
}

/** Webhooks. Source: contract §14. */
export function mountWebhooks(api: Api, { tenants, waker, ...context }: WebhookRoutes): void {
  const { clock, aborter } = context;

  api.get(
    "/v1/webhooks",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List webhooks",
        description: "Returns the webhooks of the workspace, newest first.",
        operationId: "listWebhooks",
        querystring: ListWebhooks,
        response: replies({ 200: Page(WebhookRecord) }),
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const { workspaceId } = principal;
      const db = tenants.of(workspaceId);
      const cursorKey = await readCursorKey(db, workspaceId);
      const page = readPage(request.query, (cursor) => openNumber(cursorKey, "webhooks", cursor));
      const found = await listWebhooks(db, workspaceId, page.after as LaneId | null, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => sealNumber(cursorKey, "webhooks", id));
      return { data: rows.map((webhook) => showWebhook(webhook, principal, clock.nowMs())), next_cursor: nextCursor };
    },
  );

  api.post(
    "/v1/webhooks",
    {
      config: { access: "write", confirm: true },
      schema: {
        tags,
        security,
        summary: "Create a webhook",
        description:
          "Creates a webhook. From now on, events of the given types are sent to its address. Only this response contains its secret. " +
          "`CONFLICT` means that the name is taken, `PLAN_REQUIRED` that the plan has no webhooks.",
        operationId: "createWebhook",
        body: CreateWebhook,
        response: replies({ 201: WebhookWithSecret }, "CONFLICT", "PAYLOAD_TOO_LARGE", "PLAN_REQUIRED"),
      },
    },
    async (request, reply) => {
      const actor = webhookActor(request);
      const { webhook, secret } = await createWebhook(tenants.of(actor.workspaceId), context, actor, request.body);
      return reply.code(201).send({ ...showWebhook(webhook, principalOf(request), clock.nowMs()), secret });
    },
  );

  api.get(
    "/v1/webhooks/:name",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Get a webhook",
        description: "Returns the settings of a webhook, and whether it works.",
        operationId: "getWebhook",
        params: WebhookPath,
        response: replies({ 200: WebhookRecord }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const { workspaceId } = principal;
      const db = tenants.of(workspaceId);
      const webhook = await findWebhook(db, workspaceId, request.params.name);
      if (!webhook) throw await laneNotFound(db, workspaceId, "webhook", request.params.name);
      return showWebhook(webhook, principal, clock.nowMs());
    },
  );

  api.patch(
    "/v1/webhooks/:name",
    {
      config: { access: "write", confirm: true },
      schema: {
        tags,
        security,
        summary: "Change a webhook",
        description:
          "Changes the given settings and leaves the others as they are. They also apply to pending deliveries. With `enabled` it is " +
          "switched off or on again: while it is off, it gets no events, and its pending deliveries are cancelled. After `rotate_secret`, " +
          "deliveries are signed with the new and the old secret for 24 hours.",
        operationId: "patchWebhook",
        params: WebhookPath,
        body: PatchWebhook,
        response: replies({ 200: WebhookWithSecret }, "NOT_FOUND", "PAYLOAD_TOO_LARGE", "PLAN_REQUIRED"),
      },
    },
    async (request) => {
      const actor = webhookActor(request);
      const { workspaceId } = actor;
      const { webhook, secret } = await patchWebhook(tenants.of(workspaceId), context, actor, request.params.name, request.body);
      waker.wake([{ workspaceId, laneId: webhook.id }]);
      return { ...showWebhook(webhook, principalOf(request), clock.nowMs()), ...(secret !== null && { secret }) };
    },
  );

  api.delete(
    "/v1/webhooks/:name",
    {
      config: { access: "write", confirm: true },
      schema: {
        tags,
        security,
        summary: "Delete a webhook",
        description: "Deletes a webhook with its deliveries. Pending deliveries end. This cannot be undone.",
        operationId: "deleteWebhook",
        params: WebhookPath,
        response: replies({ 204: noContent("The webhook is gone.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = webhookActor(request);
      aborter.abortLane(await deleteWebhook(tenants.of(actor.workspaceId), context, actor, request.params.name));
      return reply.code(204).send();
    },
  );
}

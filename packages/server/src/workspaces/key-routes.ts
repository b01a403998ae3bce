import { CreatedKey, CreateKey, Key, KeyPath, ListKeys, Page } from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, nextPage, noContent, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { notFound, type Tenants, typeId } from "#kernel";
import type { AdminContext } from "./admin-context.ts";
import { createKey } from "./create-key.ts";
import { readKeyId, showKey } from "./key.ts";
import { listKeys } from "./key-store.ts";
import { revokeKey } from "./revoke-key.ts";
import type { WorkspaceChanged } from "./workspace.ts";

export interface KeyRoutes {
  readonly tenants: Tenants;
  readonly adminContext: AdminContext;
  /** Called after a key was revoked: what nodes have cached is outdated. */
  readonly onWorkspaceChanged: WorkspaceChanged;
}

const { tags, security } = routeDefaults("Keys");

/** A workspace's own keys. Source: contract §2. */
export function mountKeys(api: Api, { tenants, adminContext, onWorkspaceChanged }: KeyRoutes): void {
  api.get(
    "/v1/keys",
    {
      config: { access: "admin" },
      schema: {
        tags,
        security,
        summary: "List keys",
        description: "Returns the keys of the workspace that are not revoked, newest first. The response does not contain their texts.",
        operationId: "listKeys",
        querystring: ListKeys,
        response: replies({ 200: Page(Key) }),
      },
    },
    async (request) => {
      const page = readPage(request.query, readKeyId);
      const workspaceId = workspaceOf(request);
      const found = await listKeys(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => typeId("key", id));
      return { data: rows.map(showKey), next_cursor: nextCursor };
    },
  );

  api.post(
    "/v1/keys",
    {
      config: { access: "admin", confirm: true },
      schema: {
        tags,
        security,
        summary: "Create a key",
        description: "Creates a key for the workspace. Only this response contains its text: the service stores a hash of it.",
        operationId: "createKey",
        body: CreateKey,
        response: replies({ 201: CreatedKey }, "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      return reply
        .code(201)
        .send(await createKey(tenants.of(actor.workspaceId), adminContext, actor, request.body, api.lockAccess(request)));
    },
  );

  api.delete(
    "/v1/keys/:id",
    {
      config: { access: "admin", confirm: true },
      schema: {
        tags,
        security,
        summary: "Revoke a key",
        description:
          "Revokes a key. The node that handles this request refuses the key immediately, all other nodes within a second. A request may " +
          "revoke the key that it was sent with.",
        operationId: "revokeKey",
        params: KeyPath,
        response: replies({ 204: noContent("The key is refused from now on.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const id = readKeyId(request.params.id);
      if (!id) throw notFound({ resource: "key", id: request.params.id });
      await revokeKey(tenants.of(actor.workspaceId), adminContext, actor, id);
      onWorkspaceChanged(actor.workspaceId, id);
      return reply.code(204).send();
    },
  );
}

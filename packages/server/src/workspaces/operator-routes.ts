import {
  CreatedKey,
  CreatedWorkspace,
  CreateKey,
  CreateWorkspace,
  Key,
  ListKeys,
  ListWorkspaces,
  Page,
  PatchWorkspace,
  Workspace,
  WorkspaceKeyPath,
  WorkspacePath,
} from "@tidemill/contract";
import { type Access, type Api, nextPage, noContent, operatorActorOf, readPage, replies } from "#http";
import { type Database, type Db, notFound, typeId, type WorkspaceId } from "#kernel";
import type { AdminContext } from "./admin-context.ts";
import { createKey } from "./create-key.ts";
import { createWorkspace } from "./create-workspace.ts";
import { deleteWorkspace } from "./delete-workspace.ts";
import { readKeyId, showKey } from "./key.ts";
import { listKeys } from "./key-store.ts";
import { patchWorkspace } from "./patch-workspace.ts";
import { revokeKey } from "./revoke-key.ts";
import { readWorkspaceId, showWorkspace, showWorkspaceId, type WorkspaceChanged } from "./workspace.ts";
import { existingWorkspace, workspaceIn } from "./workspace-in.ts";
import { listAcrossWorkspaces } from "./workspace-store.ts";

export interface OperatorRoutes {
  readonly database: Database;
  readonly adminContext: AdminContext;
  /** Called after a key was revoked, or a workspace's plan or limits changed: what nodes have cached is outdated. */
  readonly onWorkspaceChanged: WorkspaceChanged;
  /** Deletes what other modules store for a workspace, in the transaction that deletes it. */
  readonly onDeleteWorkspace: (tx: Db, workspaceId: WorkspaceId) => Promise<unknown>;
  /** Called after a workspace was deleted: its attempts in flight must end. */
  readonly onWorkspaceDeleted: (workspaceId: WorkspaceId) => void;
}

const config: { access: Access } = { access: "operator" };
/** A person must have confirmed who they are. */
const change: { access: Access; confirm: boolean } = { access: "operator", confirm: true };

/** The operator API: on the internal listener for the operator's token, on the public one for pages of operators. Source: contract §2, §13. */
export function mountOperatorApi(
  api: Api,
  { database, adminContext, onWorkspaceChanged, onDeleteWorkspace, onWorkspaceDeleted }: OperatorRoutes,
): void {
  api.get(
    "/admin/v1/workspaces",
    { config, schema: { querystring: ListWorkspaces, response: replies({ 200: Page(Workspace) }) } },
    async (request) => {
      const page = readPage(request.query, readWorkspaceId);
      const { rows, nextCursor } = nextPage(await listAcrossWorkspaces(database, page.after, page.limit + 1), page.limit, ({ id }) =>
        showWorkspaceId(id),
      );
      return { data: rows.map(showWorkspace), next_cursor: nextCursor };
    },
  );

  api.post(
    "/admin/v1/workspaces",
    { config: change, schema: { body: CreateWorkspace, response: replies({ 201: CreatedWorkspace }) } },
    async (request, reply) => {
      const actorId = operatorActorOf(request);
      return reply.code(201).send(await createWorkspace(database, adminContext, request.body, actorId, api.lockAccess(request)));
    },
  );

  api.get(
    "/admin/v1/workspaces/:id",
    { config, schema: { params: WorkspacePath, response: replies({ 200: Workspace }, "NOT_FOUND") } },
    async (request) => showWorkspace(await existingWorkspace(database, workspaceIn(request.params))),
  );

  api.patch(
    "/admin/v1/workspaces/:id",
    { config: change, schema: { params: WorkspacePath, body: PatchWorkspace, response: replies({ 200: Workspace }, "NOT_FOUND") } },
    async (request) => {
      const id = workspaceIn(request.params);
      const patched = await patchWorkspace(database, adminContext, id, request.body, operatorActorOf(request));
      onWorkspaceChanged(id, null);
      return patched;
    },
  );

  api.delete(
    "/admin/v1/workspaces/:id",
    { config: change, schema: { params: WorkspacePath, response: replies({ 204: noContent("The workspace is gone.") }, "NOT_FOUND") } },
    async (request, reply) => {
      const id = workspaceIn(request.params);
      await deleteWorkspace(database, adminContext, id, onDeleteWorkspace, operatorActorOf(request));
      onWorkspaceDeleted(id);
      return reply.code(204).send();
    },
  );

  api.get(
    "/admin/v1/workspaces/:id/keys",
    { config, schema: { params: WorkspacePath, querystring: ListKeys, response: replies({ 200: Page(Key) }, "NOT_FOUND") } },
    async (request) => {
      const page = readPage(request.query, readKeyId);
      const { id } = await existingWorkspace(database, workspaceIn(request.params));
      const { rows, nextCursor } = nextPage(await listKeys(database, id, page.after, page.limit + 1), page.limit, (key) =>
        typeId("key", key.id),
      );
      return { data: rows.map(showKey), next_cursor: nextCursor };
    },
  );

  api.post(
    "/admin/v1/workspaces/:id/keys",
    { config: change, schema: { params: WorkspacePath, body: CreateKey, response: replies({ 201: CreatedKey }, "NOT_FOUND") } },
    async (request, reply) => {
      const actor = { workspaceId: workspaceIn(request.params), actorId: operatorActorOf(request) };
      return reply.code(201).send(await createKey(database, adminContext, actor, request.body, api.lockAccess(request)));
    },
  );

  api.delete(
    "/admin/v1/workspaces/:id/keys/:key_id",
    { config: change, schema: { params: WorkspaceKeyPath, response: replies({ 204: noContent("The key is revoked.") }, "NOT_FOUND") } },
    async (request, reply) => {
      const workspaceId = workspaceIn(request.params);
      const keyId = readKeyId(request.params.key_id);
      if (!keyId) throw notFound({ resource: "key", id: request.params.key_id });
      await revokeKey(database, adminContext, { workspaceId, actorId: operatorActorOf(request) }, keyId);
      onWorkspaceChanged(workspaceId, keyId);
      return reply.code(204).send();
    },
  );
}

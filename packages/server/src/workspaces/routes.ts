import { CreatedKey, CreatedWorkspace, CreateKey, CreateWorkspace, WorkspacePath } from "@tidemill/contract";
import { type Api, replies } from "#http";
import { type Database, problem } from "#kernel";
import { createKey, type KeyMaker } from "./create-key.ts";
import { createWorkspace } from "./create-workspace.ts";
import { readWorkspaceId } from "./workspace.ts";

/** The operator API, on the internal listener only. Source: contract §2. */
export function mountOperatorApi(api: Api, database: Database, maker: KeyMaker): void {
  api.post(
    "/admin/v1/workspaces",
    { config: { access: "operator" }, schema: { body: CreateWorkspace, response: replies({ 201: CreatedWorkspace }) } },
    async (request, reply) => reply.code(201).send(await createWorkspace(database, maker, request.body)),
  );

  api.post(
    "/admin/v1/workspaces/:id/keys",
    {
      config: { access: "operator" },
      schema: { params: WorkspacePath, body: CreateKey, response: replies({ 201: CreatedKey }, "NOT_FOUND") },
    },
    async (request, reply) => {
      const id = readWorkspaceId(request.params.id);
      if (!id) throw problem("NOT_FOUND");
      return reply.code(201).send(await createKey(database, maker, id, request.body));
    },
  );
}

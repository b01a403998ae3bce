import { Deploy, ListDeploys, NewDeploy, Page } from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, nextPage, PAGE_END, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { typeId, uuidOf } from "#kernel";
import { markDeploy } from "./mark-deploy.ts";
import type { MetricRoutes } from "./routes.ts";
import { type DeployRow, listDeploys } from "./store.ts";

/** `POST` and `GET /v1/deploys`. Source: contract §13. */
export function mountDeploys(api: Api, { tenants, audit, ids }: MetricRoutes): void {
  api.post(
    "/v1/deploys",
    {
      config: { access: "write" },
      schema: {
        ...routeDefaults("Status"),
        summary: "Mark a deploy",
        description: "Records that you have deployed something now: on the charts of the dashboard, and in the audit log.",
        operationId: "markDeploy",
        body: NewDeploy,
        response: replies({ 201: Deploy }, "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const marked = await markDeploy(tenants.of(actor.workspaceId), { audit, ids }, actor, request.body);
      return reply.code(201).send(showDeploy(marked));
    },
  );

  api.get(
    "/v1/deploys",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Status"),
        summary: "List deploys",
        description: `Returns the deploys that were marked, newest first. ${PAGE_END}`,
        operationId: "listDeploys",
        querystring: ListDeploys,
        response: replies({ 200: Page(Deploy) }),
      },
    },
    async (request) => {
      const { from = null, to = null } = request.query;
      const page = readPage(request.query, (cursor) => uuidOf("dep", cursor));
      const workspaceId = workspaceOf(request);
      const found = await listDeploys(tenants.of(workspaceId), { workspaceId, from, to, before: page.after, limit: page.limit + 1 });
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => typeId("dep", id));
      return { data: rows.map(showDeploy), next_cursor: nextCursor };
    },
  );
}

const showDeploy = ({ id, ...deploy }: DeployRow): Deploy => ({ id: typeId("dep", id), ...deploy });

import { ListWorkers, Page, WorkerRecord } from "@tidemill/contract";
import { type Api, JSON_TYPE, nextPage, pageOf, readPage, replies, routeDefaults, workspaceOf } from "#http";
import type { Tenants } from "#kernel";
import { listWorkers } from "./store.ts";

const { tags, security } = routeDefaults("Workers");

/** Mounts the list of workers. Source: contract §7. */
export function mountWorkerList(api: Api, tenants: Tenants): void {
  api.get(
    "/v1/workers",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "List workers",
        description: "Returns the workers that called in the last 15 minutes, by name.",
        operationId: "listWorkers",
        querystring: ListWorkers,
        response: replies({ 200: Page(WorkerRecord) }),
      },
    },
    async (request, reply) => {
      const page = readPage(request.query, nameIn);
      const workspaceId = workspaceOf(request);
      const found = await listWorkers(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ name }) => cursorOf(name));
      return reply.type(JSON_TYPE).send(
        pageOf(
          rows.map((row) => [JSON.stringify(row)]),
          nextCursor,
        ),
      );
    },
  );
}

const CURSOR = "worker ";

const cursorOf = (name: string): string => Buffer.from(CURSOR + name).toString("base64url");

/** The name in a cursor; null if the text is not a cursor of this list. */
function nameIn(cursor: string): string | null {
  const text = Buffer.from(cursor, "base64url").toString();
  return text.startsWith(CURSOR) && cursorOf(text.slice(CURSOR.length)) === cursor ? text.slice(CURSOR.length) : null;
}

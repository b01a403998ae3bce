import { ListNodes, NodeRecord, Page } from "@tidemill/contract";
import { type Api, nextPage, readPage, replies } from "#http";
import type { Database } from "#kernel";
import { listNodesAcrossWorkspaces } from "./node-list.ts";

/** Mounts the operator's list of nodes. Source: contract §13. */
export function mountNodes(api: Api, database: Database): void {
  api.get(
    "/admin/v1/nodes",
    { config: { access: "operator" }, schema: { querystring: ListNodes, response: replies({ 200: Page(NodeRecord) }) } },
    async (request) => {
      const page = readPage(request.query, idIn);
      const found = await listNodesAcrossWorkspaces(database, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => String(id));
      return { data: rows, next_cursor: nextCursor };
    },
  );
}

const idIn = (cursor: string): number | null => (/^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : null);

import { AuditEvent, ListAuditEvents, Page } from "@tidemill/contract";
import { type Api, PAGE_END, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { cutPage, type Tenants, typeId, type WorkspaceId } from "#kernel";
import { canonicalOf } from "./hash.ts";
import { type AuditRow, listAuditEvents } from "./list.ts";

export interface AuditRoutes {
  readonly tenants: Tenants;
}

/** The audit log of a workspace, for its admins. Source: contract §10. */
export function mountAudit(api: Api, { tenants }: AuditRoutes): void {
  api.get(
    "/v1/audit-events",
    {
      config: { access: "admin" },
      schema: {
        ...routeDefaults("Audit"),
        summary: "List audit events",
        description: `Returns the changes in the workspace and who made them, newest first. An event must match all given filters. The events of a workspace form a chain: each holds the hash of the one before it. ${PAGE_END}`,
        operationId: "listAuditEvents",
        querystring: ListAuditEvents,
        response: replies({ 200: Page(AuditEvent) }),
      },
    },
    async (request) => {
      const { event_type, resource_type, actor_id, from = null, to = null } = request.query;
      const page = readPage(request.query, readCursor);
      const workspaceId = workspaceOf(request);
      const found = await listAuditEvents(tenants.of(workspaceId), {
        workspaceId,
        eventTypes: event_type?.split(",") ?? null,
        resourceTypes: resource_type?.split(",") ?? null,
        actorIds: actor_id?.split(",") ?? null,
        from,
        to,
        before: page.after,
        limit: page.limit + 1,
      });
      const { records, next } = cutPage(found, page.limit, ({ seq }) => seq);
      return { data: records.map((event) => showAuditEvent(workspaceId, event)), next_cursor: next && `aud_${next.toString(36)}` };
    },
  );
}

/** The record as the API shows it. */
function showAuditEvent(workspaceId: WorkspaceId, row: AuditRow): AuditEvent {
  const { id, seq, event_type, occurred_at, actor_id, resource_type, resource_id, input, output, previous, hash } = row;
  return {
    id: typeId("aud", id),
    event_type,
    occurred_at,
    actor_id,
    resource_type,
    resource_id,
    input: input === null ? null : JSON.parse(input),
    output: output === null ? null : JSON.parse(output),
    seq,
    hash: hash.toString("hex"),
    previous: previous.toString("hex"),
    canonical: canonicalOf(workspaceId, { ...row, occurred_at: row.occurred_us, expires_at: row.expires_us }),
  };
}

function readCursor(cursor: string): number | null {
  const [, digits] = /^aud_([0-9a-z]{1,11})$/.exec(cursor) ?? [];
  const seq = digits === undefined ? Number.NaN : Number.parseInt(digits, 36);
  return Number.isSafeInteger(seq) ? seq : null;
}

import { type DeadLetterGroup, DeadLetterGroup as DeadLetterGroupSchema, ListDeadLetterGroups, Page } from "@tidemill/contract";
import { type Api, nextPage, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { showJobId } from "#jobs";
import type { Tenants } from "#kernel";
import { type GroupRow, type GroupsPage, listGroups } from "./groups-store.ts";

/** Mounts the groups of the dead-letter queue. Source: contract §13. */
export function mountGroups(api: Api, tenants: Tenants): void {
  api.get(
    "/v1/dlq/groups",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Dead letters"),
        summary: "List groups of failed jobs",
        description:
          "Returns the jobs of the dead-letter queue in groups: by error code, HTTP status, host, and message without what differs from one " +
          "job to the next. The group that a job joined last comes first. " +
          "A workspace has at most about 1,000 groups: beyond that, jobs that fail in new ways are grouped by their error code alone.",
        operationId: "listDeadLetterGroups",
        querystring: ListDeadLetterGroups,
        response: replies({ 200: Page(DeadLetterGroupSchema) }),
      },
    },
    async (request) => {
      const page = readPage(request.query, readCursor);
      const workspaceId = workspaceOf(request);
      const found = await listGroups(tenants.of(workspaceId), { workspaceId, after: page.after, limit: page.limit + 1 });
      const { rows, nextCursor } = nextPage(found, page.limit, cursorOf);
      return { data: rows.map(showGroup), next_cursor: nextCursor };
    },
  );
}

const cursorOf = ({ last_seen_us, fingerprint }: GroupRow): string => `dlg_${last_seen_us.toString(36)}_${fingerprint}`;

function readCursor(cursor: string): GroupsPage["after"] {
  const [, us = "", fingerprint = ""] = /^dlg_([0-9a-z]{1,11})_([0-9a-f]{16})$/.exec(cursor) ?? [];
  const lastSeenUs = Number.parseInt(us, 36);
  return Number.isSafeInteger(lastSeenUs) ? { lastSeenUs, fingerprint } : null;
}

function showGroup(row: GroupRow): DeadLetterGroup {
  const { fingerprint, code, status, host, message, queues, jobs, first_seen_at, last_seen_at, trend, sample, sample_queue } = row;
  return {
    fingerprint,
    error: { code, status, host, message },
    queues: [...queues],
    count: jobs,
    first_seen_at,
    last_seen_at,
    trend: [...trend],
    sample_job: sample === null || sample_queue === null ? null : { id: showJobId(sample), queue: sample_queue },
  };
}

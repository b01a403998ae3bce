import { Changes, ChangesQuery, MAX_CHANGES, Metrics, MetricsQuery, MINUTE_METRICS_DAYS } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { type Api, replies, routeDefaults, workspaceOf } from "#http";
import type { Tenants, UuidSource } from "#kernel";
import { queueNotFound } from "#lanes";
import { findQueue } from "#queues";
import { readChanges } from "./changes.ts";
import { rangeOf } from "./range.ts";
import { readMetrics } from "./read.ts";
import { findTerms } from "./store.ts";

export interface MetricRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
}

/** `GET /v1/metrics` and `GET /v1/changes`. Source: contract §13. */
export function mountMetrics(api: Api, { tenants }: MetricRoutes): void {
  api.get(
    "/v1/metrics",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Status"),
        summary: "Get what happened over time",
        description:
          "Returns for each step how many jobs were enqueued, completed, failed and retried, how long they took, and how long the oldest one waited: " +
          `of one queue, or of all. Kept by the minute for ${MINUTE_METRICS_DAYS} days, by the hour for the retention of the workspace's plan. A step in which nothing ` +
          "happened has zeros. Jobs of workflows are not counted.",
        operationId: "getMetrics",
        querystring: MetricsQuery,
        response: replies({ 200: Metrics }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const { nowMs, retentionDays } = await findTerms(db, workspaceId);
      const range = rangeOf(request.query, nowMs, retentionDays);
      const name = request.query.queue;
      const queue = name === undefined ? null : await findQueue(db, workspaceId, name);
      if (name !== undefined && queue === null) throw await queueNotFound(db, workspaceId, name);
      return readMetrics(db, workspaceId, queue, range);
    },
  );

  api.get(
    "/v1/changes",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Status"),
        summary: "List what changed",
        description:
          "Returns what changed in a range, to be marked on charts: deploys, circuits that opened or closed, pauses, and settings of queues, " +
          "schedules and workflows, by their names without their values. With `queue`, the changes of this queue, and deploys. The " +
          `range is the last hour by default. It returns the newest ${MAX_CHANGES}.`,
        operationId: "listChanges",
        querystring: ChangesQuery,
        response: replies({ 200: Changes }),
      },
    },
    (request) => {
      const workspaceId = workspaceOf(request);
      return readChanges(tenants.of(workspaceId), workspaceId, request.query);
    },
  );
}

import { Usage, UsageQuery } from "@tidemill/contract";
import { type Api, replies, routeDefaults, workspaceOf } from "#http";
import type { Tenants } from "#kernel";
import { readUsage } from "./read.ts";

/** `GET /v1/usage`. Source: specification, Status and usage; contract §10. */
export function mountUsage(api: Api, { tenants }: { tenants: Tenants }): void {
  api.get(
    "/v1/usage",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Status"),
        summary: "Get the usage of a month",
        description:
          "Returns the executions and attempts of a calendar month in UTC: in total, by queue and by day. Months are kept for two years.",
        operationId: "getUsage",
        querystring: UsageQuery,
        response: replies({ 200: Usage }),
      },
    },
    (request) => {
      const workspaceId = workspaceOf(request);
      return readUsage(tenants.of(workspaceId), workspaceId, request.query.period ?? null);
    },
  );
}

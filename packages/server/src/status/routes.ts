import { Status, StatusQuery } from "@tidemill/contract";
import { type Api, principalOf, replies, routeDefaults } from "#http";
import type { Tenants } from "#kernel";
import type { RequestRate } from "#usage";
import { StatusReader } from "./read.ts";

export interface StatusRoutes {
  readonly tenants: Tenants;
  readonly rateLimiter: Pick<RequestRate, "peek">;
}

/** `GET /v1/status`. Source: specification, Status and usage; contract §10. */
export function mountStatus(api: Api, { tenants, rateLimiter }: StatusRoutes): void {
  const statuses = new StatusReader(async ({ workspaceId, requestsPerMinute }) =>
    requestsPerMinute === null ? null : rateLimiter.peek(workspaceId, requestsPerMinute),
  );
  api.get(
    "/v1/status",
    {
      config: { access: "read" },
      schema: {
        ...routeDefaults("Status"),
        summary: "Get the workspace's health and quota",
        description:
          "Returns the workspace's health, the number of its jobs in each state, and what is left of its quota and request rate. " +
          "`status` is `degraded` when one of the checks is.",
        operationId: "getStatus",
        querystring: StatusQuery,
        response: replies({ 200: Status }),
      },
    },
    (request) => {
      const principal = principalOf(request);
      return statuses.read(tenants.of(principal.workspaceId), principal);
    },
  );
}

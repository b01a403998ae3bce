import { Explanation, JobPath } from "@tidemill/contract";
import { type Api, replies, workspaceOf } from "#http";
import { jobKey } from "#jobs";
import type { Tenants } from "#kernel";
import { explainJob } from "./explain.ts";

/** Mounts the route that explains why a job is not running. Source: contract §4, explain. */
export function mountExplain(api: Api, tenants: Tenants): void {
  api.get(
    "/v1/queues/:name/jobs/:id/explain",
    {
      config: { access: "read" },
      schema: {
        tags: ["Jobs"],
        security: [{ workspaceKey: [] }],
        summary: "Explain why a job is not running",
        description:
          "Checks every gate that a job has to pass before it starts, and says which of them hold it, with figures. `estimated_start` " +
          "says when the job will start if everything goes on as it does now.",
        operationId: "explainJob",
        params: JobPath,
        response: replies({ 200: Explanation }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const db = tenants.of(workspaceOf(request));
      const key = await jobKey(db, workspaceOf(request), request.params);
      return explainJob(db, key, request.params.name);
    },
  );
}

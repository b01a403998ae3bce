import { Explanation, JobPath, type JobShare, RunExplanation, RunPath } from "@tidemill/contract";
import { type Api, replies, workspaceOf } from "#http";
import { jobKey } from "#jobs";
import type { Shares, Tenants, WorkspaceId } from "#kernel";
import { explainJob } from "./explain.ts";
import { explainRun } from "./explain-run.ts";

export interface ExplainOptions {
  readonly tenants: Tenants;
  readonly shares: Pick<Shares, "deliverySlots" | "payloadMemory">;
}

/** Mounts the routes that explain why a job or a run is not running. Source: contract §4, explain; decision 78. */
export function mountExplain(api: Api, { tenants, shares }: ExplainOptions): void {
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
          "says when the job will start if everything continues as it does now.",
        operationId: "explainJob",
        params: JobPath,
        response: replies({ 200: Explanation }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const key = await jobKey(db, workspaceId, request.params);
      return explainJob(db, key, request.params.name, sharesUsedUp(shares, workspaceId));
    },
  );

  api.get(
    "/v1/runs/:id/explain",
    {
      config: { access: "read" },
      schema: {
        tags: ["Runs"],
        security: [{ workspaceKey: [] }],
        summary: "Explain why a run is not running",
        description:
          "Checks every gate that the next execution of a run has to pass before it starts, and says which of them hold it, with figures: " +
          "what the run waits for, and the limits of its workflow. `estimatedStart` says when it will start if everything continues as it " +
          "does now.",
        operationId: "explainRun",
        params: RunPath,
        response: replies({ 200: RunExplanation }, "NOT_FOUND"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      return explainRun(tenants.of(workspaceId), workspaceId, request.params.id, sharesUsedUp(shares, workspaceId));
    },
  );
}

function sharesUsedUp({ deliverySlots, payloadMemory }: ExplainOptions["shares"], workspaceId: WorkspaceId): JobShare[] {
  const used: JobShare[] = [];
  if (deliverySlots.roomFor(workspaceId) < 1) used.push("delivery_slots");
  if (payloadMemory.roomFor(workspaceId) < 1) used.push("payload_memory");
  return used;
}

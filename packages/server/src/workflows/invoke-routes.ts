import { Invoked, InvokeWorkflow, LIMITS, RunPath } from "@tidemill/contract";
import { type Api, type RawJson, replies, routeDefaults, runForRequest, workspaceOf } from "#http";
import { problem, type RunId, type Shares, type Tenants, type UuidSource } from "#kernel";
import type { PulledWaker } from "#lanes";
import { checkPayloadTemplates } from "#vault";
import { invokeWorkflow } from "./invoke.ts";
import { refuserOf } from "./refuse-secrets.ts";
import type { ProveReport } from "./report-steps.ts";
import { readRunId, runNotFound } from "./run.ts";
import { findRun } from "./run-store.ts";

export interface InvokeRoutes {
  readonly tenants: Tenants;
  readonly ids: UuidSource;
  readonly shares: Pick<Shares, "loopTime">;
  readonly waker: PulledWaker;
  readonly proveReport: ProveReport;
}

const { tags, security } = routeDefaults("Runs");
const JSON_TYPE = "application/json; charset=utf-8";

/** The endpoint by which runs start runs. Source: specification, Workflow behavior 1 to 3; contract §11. */
export function mountInvoke(api: Api, { tenants, ids, shares, waker, proveReport }: InvokeRoutes): void {
  const refuse = refuserOf(shares);

  api.post(
    "/v1/runs/:id/invocations",
    {
      config: { access: "worker", rawMember: "input", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Invoke a workflow from a run",
        description:
          "Starts a run for a step that the worker executes, and stores the step, which waits for the run's end. If the journal has the step, " +
          "nothing is started, so the call may be repeated. `CONFLICT` means that too many runs have invoked one another in a row " +
          "(docs/run-protocol.md).",
        operationId: "invokeWorkflow",
        params: RunPath,
        body: InvokeWorkflow,
        response: replies({ 200: Invoked }, "QUOTA_EXCEEDED", "NOT_FOUND", "LEASE_LOST", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { id } = request.params;
      const { lease_token, key, workflow, input, timeout: timeoutMs } = request.body;
      const text = (input as RawJson | undefined)?.text ?? "null";
      if (Buffer.byteLength(text) > LIMITS.payloadBytes)
        throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes, path: "input" });
      await runForRequest(shares.loopTime, request, workspaceId, text.length, checkPayloadTemplates(text, "input"));
      const db = tenants.of(workspaceId);
      const run = { workspaceId, id: readRunId(id) as RunId };
      const proven = await proveReport(db, workspaceId, { id, lease_token });
      await refuse(request, proven, { key }, { input: text });
      const invoked = proven && (await invokeWorkflow(db, ids, run, proven.claim, { key, workflow, input: text, timeoutMs }));
      if (!invoked) throw (await findRun(db, run)) ? problem("LEASE_LOST") : runNotFound(id);
      if (invoked.lane) waker.wakeWorkflows([invoked.lane]);
      return reply.type(JSON_TYPE).send(invoked.output);
    },
  );
}

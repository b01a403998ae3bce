import { Invoked, InvokeWorkflow, LIMITS, RunPath } from "@tidemill/contract";
import { type Api, JSON_TYPE, type RawJson, replies, routeDefaults, runForRequest, workspaceOf } from "#http";
import { payloadTooLarge, type UuidSource } from "#kernel";
import type { PulledWaker } from "#lanes";
import { checkPayloadTemplates } from "#vault";
import { type StepRequestOptions, stepRequests } from "../steps/step-request.ts";
import { invokeWorkflow } from "./invoke.ts";

export interface InvokeRoutes extends StepRequestOptions {
  readonly ids: UuidSource;
  readonly waker: PulledWaker;
}

const { tags, security } = routeDefaults("Runs");

/** The endpoint by which runs start runs. Source: specification, Workflow behavior 1 to 3; contract §11. */
export function mountInvoke(api: Api, { ids, shares, waker, ...options }: InvokeRoutes): void {
  const carryOut = stepRequests({ shares, ...options });

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
      if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw payloadTooLarge(LIMITS.payloadBytes, "input");
      await runForRequest(shares.loopTime, request, workspaceId, text.length, checkPayloadTemplates(text, "input"));
      const invoked = await carryOut(request, { id, lease_token, texts: { key }, payload: { input: text } }, (db, run, claim) =>
        invokeWorkflow(db, ids, run, claim, { key, workflow, input: text, timeoutMs }),
      );
      if (invoked.lane) waker.wakeWorkflows([invoked.lane]);
      return reply.type(JSON_TYPE).send(invoked.output);
    },
  );
}

import { CompletedSignal, LIMITS, RegisteredSignal, RegisterSignal, RunPath, SignalPath, SignalPayload } from "@tidemill/contract";
import { type AuditLog, requestActor } from "#audit";
import { type Api, JSON_TYPE, type RawJson, replies, routeDefaults, workspaceOf } from "#http";
import { payloadTooLarge } from "#kernel";
import type { PulledWaker } from "#lanes";
import { showRunId } from "../runs/run.ts";
import { type StepRequestOptions, stepRequests } from "../steps/step-request.ts";
import { completeSignal } from "./complete-signal.ts";
import { registerSignal } from "./register-signal.ts";

export interface SignalRoutes extends StepRequestOptions {
  readonly audit: AuditLog;
  readonly waker: PulledWaker;
}

const { tags, security } = routeDefaults("Signals");

/** The endpoints of signals. Source: specification, Signals and runs; contract §11. */
export function mountSignals(api: Api, { tenants, audit, waker, ...options }: SignalRoutes): void {
  const carryOut = stepRequests({ tenants, ...options });

  api.post(
    "/v1/signals/:id/complete",
    {
      config: { access: "write", rawBody: true },
      schema: {
        tags,
        security,
        summary: "Complete a signal",
        description:
          "The whole body is the payload: any JSON value, null without a body. The run that waits for the signal resumes with it; if the run " +
          "has only registered the signal, the payload is kept for it. A signal can be completed once.",
        operationId: "completeSignal",
        params: SignalPath,
        body: SignalPayload,
        response: replies({ 200: CompletedSignal }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const { text } = request.body as RawJson;
      if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw payloadTooLarge(LIMITS.payloadBytes);
      const workspaceId = workspaceOf(request);
      const { id } = request.params;
      const { runId, woken } = await completeSignal(tenants.of(workspaceId), audit, requestActor(request), id, text);
      if (woken) waker.wakeWorkflows([woken]);
      return { signal: id, runId: showRunId(runId) };
    },
  );

  api.post(
    "/v1/runs/:id/signals",
    {
      config: { access: "worker", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Register a signal for a run",
        description:
          "Registers the signal of a step that the worker executes, and stores the step with the response as its output, so that a completion " +
          "that comes before the run waits is kept. If the journal has the step, nothing changes. `CONFLICT` means that the signal belongs to " +
          "another run that has not ended (docs/run-protocol.md).",
        operationId: "registerSignal",
        params: RunPath,
        body: RegisterSignal,
        response: replies({ 200: RegisteredSignal }, "NOT_FOUND", "LEASE_LOST", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { lease_token, key, signal } = request.body;
      const output = await carryOut(request, { id, lease_token, texts: { key, signal } }, (db, run, claim) =>
        registerSignal(db, run, claim, key, signal),
      );
      return reply.type(JSON_TYPE).send(output);
    },
  );
}

import { CompletedSignal, LIMITS, RegisteredSignal, RegisterSignal, RunPath, SignalPath, SignalPayload } from "@tidemill/contract";
import { type AuditLog, requestActor } from "#audit";
import { type Api, type RawJson, replies, routeDefaults, workspaceOf } from "#http";
import { problem, type RunId, type Shares, type Tenants } from "#kernel";
import type { PulledWaker } from "#lanes";
import { completeSignal } from "./complete-signal.ts";
import { refuserOf } from "./refuse-secrets.ts";
import { registerSignal } from "./register-signal.ts";
import type { ProveReport } from "./report-steps.ts";
import { readRunId, runNotFound, showRunId } from "./run.ts";
import { findRun } from "./run-store.ts";

export interface SignalRoutes {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly shares: Pick<Shares, "loopTime">;
  readonly waker: PulledWaker;
  readonly proveReport: ProveReport;
}

const { tags, security } = routeDefaults("Signals");
const JSON_TYPE = "application/json; charset=utf-8";

/** The endpoints of signals. Source: specification, Signals and runs; contract §11. */
export function mountSignals(api: Api, { tenants, audit, shares, waker, proveReport }: SignalRoutes): void {
  const refuse = refuserOf(shares);

  api.post(
    "/v1/signals/:id/complete",
    {
      config: { access: "write", rawBody: true },
      schema: {
        tags,
        security,
        summary: "Complete a signal",
        description:
          "The whole body is the payload: any JSON value, null without a body. The run that waits for the signal goes on with it; if the run " +
          "has only registered the signal, the payload is kept for it. A signal can be completed once.",
        operationId: "completeSignal",
        params: SignalPath,
        body: SignalPayload,
        response: replies({ 200: CompletedSignal }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const { text } = request.body as RawJson;
      if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw problem("PAYLOAD_TOO_LARGE", { limit_bytes: LIMITS.payloadBytes });
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
      const workspaceId = workspaceOf(request);
      const { id } = request.params;
      const { lease_token, key, signal } = request.body;
      const db = tenants.of(workspaceId);
      const run = { workspaceId, id: readRunId(id) as RunId };
      const proven = await proveReport(db, workspaceId, { id, lease_token });
      await refuse(request, proven, { key, signal }, {});
      const output = proven && (await registerSignal(db, run, proven.claim, key, signal));
      if (output === null) throw (await findRun(db, run)) ? problem("LEASE_LOST") : runNotFound(id);
      return reply.type(JSON_TYPE).send(output);
    },
  );
}

import { EventHeaders, LIMITS, RunPath, SendEvent, SendStepEvent, SentEvent, StepEventSent } from "@tidemill/contract";
import {
  type Api,
  idempotencyKeyOf,
  JSON_TYPE,
  principalOf,
  type RawJson,
  replies,
  routeDefaults,
  runForRequest,
  workspaceOf,
} from "#http";
import { type Clock, payloadTooLarge, type UuidSource } from "#kernel";
import type { PulledWaker } from "#lanes";
import { checkPayloadTemplates } from "#vault";
import { showRunId } from "../runs/run.ts";
import { type StepRequestOptions, stepRequests } from "../steps/step-request.ts";
import { fingerprintOfEvent } from "./event-fingerprint.ts";
import { sendEvent, showEventId } from "./send-event.ts";
import { sendStepEvent } from "./send-step-event.ts";

export interface EventRoutes extends StepRequestOptions {
  readonly ids: UuidSource;
  readonly clock: Pick<Clock, "nowMs">;
  readonly waker: PulledWaker;
}

const { tags, security } = routeDefaults("Events");

/** The endpoints of events. Source: contract §11. */
export function mountEvents(api: Api, { tenants, ids, clock, shares, waker, verifyReport }: EventRoutes): void {
  const carryOut = stepRequests({ tenants, shares, verifyReport });

  api.post(
    "/v1/events",
    {
      config: { access: "write", rawMember: "data" },
      schema: {
        tags,
        security,
        summary: "Send an event",
        description:
          "Starts a run of each workflow that is registered with the event's name: all of them, or none. An event with a known " +
          "`idempotencyKey` starts none and returns what the first one started; `IDEMPOTENCY_MISMATCH` means that the first one had another " +
          "name or other data. When the month's executions do not suffice for all runs, `QUOTA_EXCEEDED` refuses it, also with a known key.",
        operationId: "sendEvent",
        headers: EventHeaders,
        body: SendEvent,
        response: replies({ 202: SentEvent }, "QUOTA_EXCEEDED", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_MISMATCH"),
      },
    },
    async (request, reply) => {
      const { workspaceId } = principalOf(request);
      const { name, ts = Math.trunc(clock.nowMs()) } = request.body;
      const key = idempotencyKeyOf(request, request.body.idempotencyKey);
      const data = dataOf(request.body);
      await runForRequest(shares.loopTime, request, workspaceId, data.length, checkPayloadTemplates(data, "data"));
      const fingerprint = () => runForRequest(shares.loopTime, request, workspaceId, data.length, fingerprintOfEvent(name, data));
      const idempotency = key === undefined ? null : { key, fingerprint: await fingerprint() };
      const sent = await tenants.of(workspaceId).transaction((tx) => sendEvent(tx, ids, workspaceId, { name, data, ts, idempotency }));
      if (sent.lanes.length > 0) waker.wakeWorkflows(sent.lanes);
      return reply.code(202).send({ eventId: showEventId(sent.id), runIds: sent.runIds.map(showRunId), duplicate: sent.duplicate });
    },
  );

  api.post(
    "/v1/runs/:id/events",
    {
      config: { access: "worker", rawMember: "data", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Send an event from a run",
        description:
          "Sends the event of a step that the worker executes, and stores the step with the response as its output. If the journal has the " +
          "step, nothing is sent and its output is returned, so the call may be repeated. `CONFLICT` means that the journal has a step with this " +
          "key that is of another type, or that failed (docs/run-protocol.md).",
        operationId: "sendStepEvent",
        params: RunPath,
        body: SendStepEvent,
        response: replies({ 200: StepEventSent }, "QUOTA_EXCEEDED", "NOT_FOUND", "LEASE_LOST", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const workspaceId = workspaceOf(request);
      const { lease_token, key, name, ts = Math.trunc(clock.nowMs()) } = request.body;
      const { id } = request.params;
      const data = dataOf(request.body);
      await runForRequest(shares.loopTime, request, workspaceId, data.length, checkPayloadTemplates(data, "data"));
      const sent = await carryOut(request, { id, lease_token, texts: { key }, payload: { data } }, (db, run, claim) =>
        sendStepEvent(db, ids, run, claim, key, { name, data, ts }),
      );
      if (sent.lanes.length > 0) waker.wakeWorkflows(sent.lanes);
      return reply.type(JSON_TYPE).send(sent.output);
    },
  );
}

function dataOf({ data }: { readonly data?: unknown }): string {
  const text = (data as RawJson | undefined)?.text ?? "null";
  if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw payloadTooLarge(LIMITS.payloadBytes, "data");
  return text;
}

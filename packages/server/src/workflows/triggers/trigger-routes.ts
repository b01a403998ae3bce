import { setImmediate } from "node:timers/promises";
import { LIMITS, Triggered, TriggeredMany, TriggerHeaders, TriggerMany, TriggerWorkflow, WorkflowPath } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Api, idempotencyKeyOf, principalOf, type RawJson, replies, routeDefaults, runForRequest } from "#http";
import { type Clock, isAway, ProblemError, payloadTooLarge, type Shares } from "#kernel";
import type { LaneKey, PulledWaker, Waker } from "#lanes";
import { checkPayloadTemplates } from "#vault";
import { showRunId } from "../runs/run.ts";
import type { StartedRun, Trigger } from "./trigger.ts";
import type { Triggers } from "./triggers.ts";

export interface TriggerRoutes {
  readonly triggers: Triggers;
  readonly clock: Pick<Clock, "nowMs">;
  readonly shares: Pick<Shares, "loopTime">;
  readonly waker: Pick<Waker, "wakeAt"> & PulledWaker;
}

const { tags, security } = routeDefaults("Workflows");
const NO_DETAILS = {};

type Outcome = TriggeredMany["triggered"][number];

/** Mounts how runs are started by callers. Source: contract §11. */
export function mountTriggers(api: Api, { triggers, clock, shares, waker }: TriggerRoutes): void {
  /** @throws PAYLOAD_TOO_LARGE; VALIDATION_ERROR for a template that is malformed */
  async function read(
    request: FastifyRequest,
    workflow: string,
    { input, idempotencyKey = null, delay = 0 }: Omit<TriggerWorkflow, "idempotencyKey"> & { idempotencyKey?: string | null },
    path: string,
  ): Promise<Trigger> {
    const text = (input as RawJson | undefined)?.text ?? "null";
    if (Buffer.byteLength(text) > LIMITS.payloadBytes) throw payloadTooLarge(LIMITS.payloadBytes, path);
    await runForRequest(shares.loopTime, request, principalOf(request).workspaceId, text.length, checkPayloadTemplates(text, path));
    return { workflow, input: text, idempotencyKey, dueMs: delay > 0 ? clock.nowMs() + delay * 1_000 : null };
  }

  function wake(started: readonly (StartedRun & Pick<Trigger, "dueMs">)[]): void {
    const lanes = new Map<number, LaneKey>();
    for (const { duplicate, isHeld, lane, dueMs } of started) {
      if (duplicate || isHeld) continue;
      if (dueMs === null) lanes.set(lane.laneId, lane);
      else waker.wakeAt(dueMs);
    }
    if (lanes.size > 0) waker.wakeWorkflows([...lanes.values()]);
  }

  /** Workers get the responses with their runs before callers learn that these have started. */
  async function workersFirst(started: readonly StartedRun[]): Promise<void> {
    if (started.some(({ isHeld }) => isHeld)) await setImmediate();
  }

  api.post(
    "/v1/workflows/:name/trigger",
    {
      config: { access: "write", rawMember: "input" },
      schema: {
        tags,
        security,
        summary: "Start a run",
        description:
          "Starts a run of a workflow. A trigger with a known `idempotencyKey` starts none and returns the run that it named, whatever its " +
          "input. When the month's executions are used up, `QUOTA_EXCEEDED` refuses it, even with a known key.",
        operationId: "triggerWorkflow",
        params: WorkflowPath,
        headers: TriggerHeaders,
        body: TriggerWorkflow,
        response: replies({ 200: Triggered, 201: Triggered }, "QUOTA_EXCEEDED", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const idempotencyKey = idempotencyKeyOf(request, request.body.idempotencyKey) ?? null;
      const trigger = await read(request, request.params.name, { ...request.body, idempotencyKey }, "input");
      const started = await triggers.start(principalOf(request), trigger);
      wake([{ ...started, dueMs: trigger.dueMs }]);
      await workersFirst([started]);
      return reply.code(started.duplicate ? 200 : 201).send({ runIds: [showRunId(started.id)], duplicate: started.duplicate });
    },
  );

  api.post(
    "/v1/workflows/:name/trigger/batch",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "write", rawMember: "input", rawList: "triggers" },
      schema: {
        tags,
        security,
        summary: "Start many runs",
        description:
          "Starts runs of a workflow, as that many triggers do. Each starts its run, or is refused, by itself: the response says which. With " +
          "`UNAVAILABLE`, it is not known whether a run was started: with an `idempotencyKey`, a repeat starts it at most once.",
        operationId: "triggerWorkflowMany",
        params: WorkflowPath,
        body: TriggerMany,
        response: replies({ 200: TriggeredMany }, "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const { name } = request.params;
      const started: (StartedRun & Pick<Trigger, "dueMs">)[] = [];
      const outcomes = request.body.triggers.map(async (one, at): Promise<Outcome> => {
        try {
          const trigger = await read(request, name, one, `triggers[${at}].input`);
          const run = await triggers.start(principalOf(request), trigger);
          started.push({ ...run, dueMs: trigger.dueMs });
          return { runIds: [showRunId(run.id)], duplicate: run.duplicate, code: null, message: null, details: NO_DETAILS };
        } catch (error) {
          return { runIds: [], duplicate: false, ...refusalOf(error) };
        }
      });
      // Waits for all of them, even if one fails the call: runs that have started must be executed.
      const settled = await Promise.allSettled(outcomes);
      wake(started);
      await workersFirst(started);
      // Otherwise the ids of the started runs would be lost.
      const refusal = started.length > 0 ? awayOf : raise;
      return { triggered: settled.map((one) => (one.status === "fulfilled" ? one.value : refusal(one.reason))) };
    },
  );
}

function raise(error: unknown): never {
  throw error;
}

/** The outcome of a trigger that failed because the database was unavailable, in a call that has started other runs. */
function awayOf(error: unknown): Outcome {
  if (!(error instanceof ProblemError && isAway(error))) throw error;
  return { runIds: [], duplicate: false, code: "UNAVAILABLE", message: error.message, details: NO_DETAILS };
}

/** Why one trigger is refused. Everything else fails the call. */
function refusalOf(error: unknown): Pick<Outcome, "code" | "message" | "details"> {
  if (!(error instanceof ProblemError)) throw error;
  const { code, message, details } = error;
  if (code === "QUOTA_EXCEEDED" || code === "PAYLOAD_TOO_LARGE" || code === "VALIDATION_ERROR") return { code, message, details };
  throw error;
}

import type { PutWorkflow } from "@tidemill/contract";
import { resetCircuit } from "#circuits";
import { type Db, invalid, type Transactional, type WorkspaceId } from "#kernel";
import { insertLane, type LaneId, type LaneKey, type LaneSettings, lockLane, updateLane } from "#lanes";
import { putScheduleOfWorkflow } from "#schedules";
import { checkEndpoint, secretFor, withoutCredentials } from "./endpoint.ts";
import { putEvents } from "./events/put-events.ts";
import { findWorkflow, findWorkflowOfLane, putWorkflowOfLane } from "./store.ts";
import type { Workflow, WorkflowActor, WorkflowContext } from "./workflow.ts";

const DEFAULTS = { attempts: 3, backoffDelayMs: 1_000, timeoutSeconds: 30 };

/**
 * Registers a workflow, or changes one. Returns it, whether it is new, the first tick of a schedule that is new or changed, and a signing
 * secret that was generated. A change closes an open circuit.
 *
 * @throws VALIDATION_ERROR for an event that starts too many workflows, an invalid cron expression, an unknown time zone, or a host that
 *   executions may not be sent to; PLAN_REQUIRED for an `endpoint_url` when the workspace's plan has no callbacks
 */
export const putWorkflow = (
  database: Transactional,
  { audit, calendars, clock, random, guard }: WorkflowContext,
  { workspaceId, actorId, plan }: WorkflowActor,
  name: string,
  request: PutWorkflow,
): Promise<{ workflow: Workflow; isNew: boolean; nextMs: number | null; secret: string | null }> => {
  checkEndpoint(guard, plan, request);
  return database.transaction(async (tx) => {
    const settings = settingsOf(request);
    const { laneId, isNew } = await putLane(tx, workspaceId, name, settings);
    const lane: LaneKey = { workspaceId, laneId };
    const before = isNew ? null : await findWorkflowOfLane(tx, lane);
    const secret = secretFor(request, before?.endpoint_secret ?? null, random);
    await putWorkflowOfLane(tx, lane, request, secret.kept);
    await resetCircuit(tx, lane);
    await putEvents(tx, lane, request.events ?? []);
    const nextMs = await putScheduleOfWorkflow(tx, calendars, { ...lane, name }, patternOf(request), clock.nowMs());
    await audit.record(tx, {
      workspaceId,
      actorId,
      eventType: isNew ? "workflow.created" : "workflow.updated",
      resourceType: "workflow",
      resourceId: name,
      input: withoutCredentials(request),
      output: secret.generated === null ? null : { secret_made: true },
    });
    const workflow = (await findWorkflow(tx, workspaceId, name)) as Workflow;
    return { workflow, isNew, nextMs, secret: secret.generated };
  });
};

/**
 * Creates the lane of a workflow, or changes it. The lane is then locked, so that nobody deletes it before the transaction ends. A lane
 * that is deleted between the two statements is created again.
 */
async function putLane(
  tx: Db,
  workspaceId: WorkspaceId,
  name: string,
  settings: LaneSettings,
): Promise<{ laneId: LaneId; isNew: boolean }> {
  for (;;) {
    const created = await insertLane(tx, workspaceId, "workflow", name, settings);
    if (created) return { laneId: created.id, isNew: true };
    const found = await lockLane(tx, workspaceId, "workflow", name);
    if (!found) continue;
    await updateLane(tx, { workspaceId, laneId: found.id }, settings);
    return { laneId: found.id, isNew: false };
  }
}

function patternOf({ cron = null, timezone = null }: PutWorkflow): { cron: string; timezone: string } | null {
  if (cron !== null && timezone !== null) return { cron, timezone };
  if (cron === null && timezone === null) return null;
  throw cron === null ? invalid("cron", "is required with timezone") : invalid("timezone", "is required with cron");
}

const settingsOf = ({ attempts, backoff, concurrency, endpoint_url, endpoint_timeout }: PutWorkflow): LaneSettings => ({
  served: endpoint_url ? "push" : "pull",
  paused: undefined,
  concurrency: concurrency ?? null,
  concurrencyPerKey: undefined,
  rateMax: undefined,
  rateSeconds: undefined,
  attempts: attempts ?? DEFAULTS.attempts,
  backoffDelayMs: backoff?.delay ?? DEFAULTS.backoffDelayMs,
  attemptTimeoutSeconds: endpoint_timeout ?? DEFAULTS.timeoutSeconds,
});

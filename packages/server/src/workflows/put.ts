import type { Plan, PutWorkflow } from "@tidemill/contract";
import { resetCircuit } from "#circuits";
import { type Db, invalid, type Transactional, type WorkspaceId } from "#kernel";
import { insertLane, type LaneKey, type LaneSettings, lockLane, updateLane } from "#lanes";
import { checkEndpoint, secretFor, withoutCredentials } from "./endpoint.ts";
import { putEvents } from "./events/put-events.ts";
import { findWorkflow, findWorkflowOfLane, putWorkflowOfLane } from "./store.ts";
import { showWorkflow, type Workflow, type WorkflowActor, type WorkflowContext } from "./workflow.ts";

const DEFAULTS = { attempts: 3, backoffDelayMs: 1_000, timeoutSeconds: 30 };

/**
 * Registers a workflow, or changes one. Returns it, the names of the settings that changed (null: it is new), the first tick of a schedule
 * that is new or changed, and a signing secret that was generated. Closes an open circuit. What is due of a schedule that changes starts
 * its run first.
 *
 * @throws VALIDATION_ERROR for an event that starts too many workflows, an invalid cron expression, an unknown time zone, or a host that
 *   executions may not be sent to; PLAN_REQUIRED for an `endpoint_url` when the workspace's plan has no callbacks
 */
export const putWorkflow = (
  database: Transactional,
  { audit, schedules, random, guard }: WorkflowContext,
  { workspaceId, actorId, plan }: WorkflowActor,
  name: string,
  request: PutWorkflow,
): Promise<{ workflow: Workflow; changed: string[] | null; nextMs: number | null; secret: string | null }> => {
  checkEndpoint(guard, plan, request);
  return database.transaction(async (tx) => {
    const settings = settingsOf(request);
    const { lane, before } = await holdLane(tx, workspaceId, name, settings);
    const secret = secretFor(request, before?.endpoint_secret ?? null, random);
    await putWorkflowOfLane(tx, lane, request, secret.kept);
    await putEvents(tx, lane, request.events ?? []);
    // Ticks that are due start runs by the settings that the lane has until then.
    const nextMs = await schedules.putForWorkflow(tx, { ...lane, name }, patternOf(request));
    if (before) await updateLane(tx, lane, settings);
    await resetCircuit(tx, lane);
    const workflow = (await findWorkflow(tx, workspaceId, name)) as Workflow;
    const changed = before && differences(before, workflow, plan);
    const made = secret.generated === null ? null : { secret_made: true };
    // Each worker registers its workflows when it starts, and mostly changes nothing.
    if (changed?.length !== 0)
      await audit.record(tx, {
        workspaceId,
        actorId,
        eventType: changed ? "workflow.updated" : "workflow.created",
        resourceType: "workflow",
        resourceId: name,
        input: withoutCredentials(request),
        output: changed ? { changed, ...made } : made,
      });
    return { workflow, changed, nextMs, secret: secret.generated };
  });
};

/**
 * Creates the lane of a workflow, or locks it, so that nobody deletes it before the transaction ends. Returns it with the workflow that it
 * had before; null: it is new. A lane that is deleted between the two statements is created again.
 */
async function holdLane(
  tx: Db,
  workspaceId: WorkspaceId,
  name: string,
  settings: LaneSettings,
): Promise<{ lane: LaneKey; before: Workflow | null }> {
  for (;;) {
    const created = await insertLane(tx, workspaceId, "workflow", name, settings);
    if (created) return { lane: { workspaceId, laneId: created.id }, before: null };
    const found = await lockLane(tx, workspaceId, "workflow", name);
    if (!found) continue;
    const lane = { workspaceId, laneId: found.id };
    return { lane, before: await findWorkflowOfLane(tx, lane) };
  }
}

/** Fields of the record that are no settings: they follow from other fields, or change by themselves. */
const NO_SETTINGS: ReadonlySet<string> = new Set(["updatedAt", "nextRunAt", "has_endpoint_secret", "endpoint_stopped"]);

/** Names of the settings that changed. */
function differences(before: Workflow, after: Workflow, plan: Plan): string[] {
  const settings = (workflow: Workflow) => ({ ...showWorkflow(workflow, plan), endpoint_secret: workflow.endpoint_secret });
  const old = settings(before);
  return Object.entries(settings(after)).flatMap(([name, value]) =>
    NO_SETTINGS.has(name) || JSON.stringify(value) === JSON.stringify(old[name as keyof typeof old]) ? [] : [name],
  );
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

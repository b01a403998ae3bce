import type { PutWorkflow } from "@tidemill/contract";
import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { findLane, insertLane, type LaneKey, type LaneSettings, updateLane } from "#lanes";
import { putEvents } from "./put-events.ts";
import { findWorkflow, putWorkflowOfLane } from "./store.ts";
import type { Workflow, WorkflowContext } from "./workflow.ts";

const DEFAULTS = { attempts: 3, backoffDelayMs: 1_000 };

/**
 * Registers a workflow, or changes one. Returns it, and whether it is new.
 *
 * @throws VALIDATION_ERROR for an event that starts too many workflows
 */
export const putWorkflow = (
  database: Transactional,
  { audit }: WorkflowContext,
  { workspaceId, actorId }: Actor,
  name: string,
  request: PutWorkflow,
): Promise<{ workflow: Workflow; isNew: boolean }> =>
  database.transaction(async (tx) => {
    const settings = settingsOf(request);
    const created = await insertLane(tx, workspaceId, "workflow", name, settings);
    const found = created ?? (await findLane(tx, workspaceId, "workflow", name));
    if (!found) throw new Error("The workflow was deleted just now.");
    const lane: LaneKey = { workspaceId, laneId: found.id };
    if (!created) await updateLane(tx, lane, settings);
    await putWorkflowOfLane(tx, lane, request);
    await putEvents(tx, lane, request.events ?? []);
    await audit.record(tx, {
      workspaceId,
      actorId,
      eventType: created ? "workflow.created" : "workflow.updated",
      resourceType: "workflow",
      resourceId: name,
      input: request,
      output: null,
    });
    const workflow = (await findWorkflow(tx, workspaceId, name)) as Workflow;
    return { workflow, isNew: created !== null };
  });

const settingsOf = ({ attempts, backoff, concurrency }: PutWorkflow): LaneSettings => ({
  served: "pull",
  paused: undefined,
  concurrency: concurrency ?? null,
  concurrencyPerKey: undefined,
  rateMax: undefined,
  rateSeconds: undefined,
  attempts: attempts ?? DEFAULTS.attempts,
  backoffDelayMs: backoff?.delay ?? DEFAULTS.backoffDelayMs,
  attemptTimeoutSeconds: undefined,
});

import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { type LaneKey, laneNotFound, markLaneDeleted } from "#lanes";
import { removeSchedulesOf } from "#schedules";
import type { WorkflowContext } from "./workflow.ts";

/**
 * Deletes a workflow with its runs and their calls. Callers see neither any more; a sweep deletes the rows later.
 *
 * @throws NOT_FOUND
 */
export const deleteWorkflow = (
  database: Transactional,
  { audit }: Pick<WorkflowContext, "audit">,
  { workspaceId, actorId }: Actor,
  name: string,
): Promise<LaneKey[]> =>
  database.transaction(async (tx) => {
    const deleted = await markLaneDeleted(tx, workspaceId, "workflow", name);
    if (!deleted) throw await laneNotFound(tx, workspaceId, "workflow", name);
    const calls = await markLaneDeleted(tx, workspaceId, "http", name);
    await removeSchedulesOf(tx, { workspaceId, laneId: deleted.id });
    await audit.record(tx, {
      workspaceId,
      actorId,
      eventType: "workflow.deleted",
      resourceType: "workflow",
      resourceId: name,
      input: null,
      output: null,
    });
    return [deleted, ...(calls ? [calls] : [])].map(({ id: laneId }) => ({ workspaceId, laneId }));
  });

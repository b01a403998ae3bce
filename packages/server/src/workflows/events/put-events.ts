import { LIMITS } from "@tidemill/contract";
import { type Db, invalid } from "#kernel";
import type { LaneKey } from "#lanes";
import { findCrowdedEvent, findEventsOf, lockEventNames, putEventsOf } from "./event-store.ts";

/**
 * Replaces the events that start a workflow.
 *
 * @throws VALIDATION_ERROR for an event that would start too many workflows
 */
export async function putEvents(tx: Db, lane: LaneKey, names: readonly string[]): Promise<void> {
  const before = new Set(await findEventsOf(tx, lane));
  const added = names.filter((name) => !before.has(name));
  if (added.length === 0 && names.length === before.size) return;
  await lockEventNames(tx, lane.workspaceId, added);
  await putEventsOf(tx, lane, names);
  const crowded = await findCrowdedEvent(tx, lane.workspaceId, added, LIMITS.eventWorkflows);
  if (crowded === null) return;
  throw invalid(`events[${names.indexOf(crowded)}]`, `already starts ${LIMITS.eventWorkflows} workflows, which is the limit`);
}

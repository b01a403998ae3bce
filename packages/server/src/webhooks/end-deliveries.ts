import { removeUnlocked } from "#jobs";
import type { JobId, Transactional } from "#kernel";
import type { Aborter, LaneKey } from "#lanes";
import { cancelSomeDeliveries } from "./delivery-store.ts";
import { findCancellingAcrossWorkspaces, lockCancelling, markCancelled } from "./store.ts";

export interface EndingDeliveries {
  readonly db: Transactional;
  /** Gets the deliveries that were being sent. */
  readonly aborter: Pick<Aborter, "abortJob">;
}

/** Deliveries in one transaction. A webhook that has failed for days may have a million of them. */
const CHUNK = 5_000;
const MAX_WEBHOOKS = 100;

/**
 * Cancels the pending deliveries of a webhook that is switched off, in a transaction for each portion. So the webhook is locked for a short
 * time only. If the node stops in between, `endDeliveriesAcrossWorkspaces` goes on. A webhook that is switched on meanwhile keeps the rest.
 */
export async function endDeliveries(ending: EndingDeliveries, lane: LaneKey, chunk = CHUNK): Promise<void> {
  for (let last: JobId | null = null; ; ) {
    last = await endPortion(ending, lane, last, chunk);
    if (last === null) return;
  }
}

/** The first portion only. `endDeliveriesAcrossWorkspaces` cancels the others. */
export const endFirstDeliveries = async (ending: EndingDeliveries, lane: LaneKey): Promise<void> =>
  void (await endPortion(ending, lane, null, CHUNK));

/**
 * Cancels deliveries of webhooks that were switched off and have some left. One node at a time does so for a webhook.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export async function endDeliveriesAcrossWorkspaces(ending: EndingDeliveries): Promise<number | undefined> {
  const lanes = await findCancellingAcrossWorkspaces(ending.db, MAX_WEBHOOKS);
  const failures: unknown[] = [];
  for (const lane of lanes) await endDeliveries(ending, lane).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
  return lanes.length === MAX_WEBHOOKS ? 0 : undefined;
}

/**
 * A settle locks a job before its delivery, so a job that is locked is left, and its settle finds that the delivery has ended.
 *
 * @returns the last delivery of the portion; null when none is left, or another transaction cancels them
 */
async function endPortion({ db, aborter }: EndingDeliveries, lane: LaneKey, after: JobId | null, limit: number): Promise<JobId | null> {
  const { ids, removed } = await db.transaction(async (tx) => {
    if (!(await lockCancelling(tx, lane))) return { ids: [], removed: [] };
    const ids = await cancelSomeDeliveries(tx, lane, { after, limit });
    const removed = ids.length > 0 ? await removeUnlocked(tx, lane, ids) : [];
    if (ids.length < limit) await markCancelled(tx, lane);
    return { ids, removed };
  });
  for (const { id, lease_id: leaseId } of removed) if (leaseId !== null) aborter.abortJob(id, leaseId);
  return ids.length < limit ? null : (ids.at(-1) ?? null);
}

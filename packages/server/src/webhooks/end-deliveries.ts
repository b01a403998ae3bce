import { removeUnlocked } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import { cancelSomeDeliveries } from "./delivery-store.ts";

/** A delivery that has ended while a node was sending it, under this lease. */
export interface EndedDelivery {
  readonly id: JobId;
  readonly leaseId: number;
}

/** Deliveries in one statement. A webhook that has failed for days may have a million of them. */
const CHUNK = 5_000;

/**
 * Ends the pending deliveries of a webhook that is switched off. A settle locks a job before its delivery, so a job that is locked is left,
 * and its settle finds that the delivery has ended.
 *
 * @returns those that were being sent
 */
export async function endDeliveries(tx: Db, lane: LaneKey, chunk = CHUNK): Promise<EndedDelivery[]> {
  const sending: EndedDelivery[] = [];
  for (let after: JobId | null = null; ; ) {
    const ids: JobId[] = await cancelSomeDeliveries(tx, lane, { after, limit: chunk });
    for (const { id, lease_id: leaseId } of await removeUnlocked(tx, lane, ids)) if (leaseId !== null) sending.push({ id, leaseId });
    after = ids.at(-1) ?? null;
    if (ids.length < chunk) return sending;
  }
}

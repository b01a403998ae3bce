import { removeUnlockedAcrossWorkspaces } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { LaneKey } from "#lanes";
import { cancelDeliveriesOf } from "./delivery-store.ts";

/** A delivery that has ended while its job was there, and the lease of the node that was sending it. */
export interface EndedDelivery {
  readonly id: JobId;
  readonly leaseId: number | null;
}

/**
 * Ends the pending deliveries of a webhook that is switched off. A settle locks a job before its delivery, so a job that is locked is left,
 * and its settle finds that the delivery has ended.
 */
export async function endDeliveries(tx: Db, lane: LaneKey): Promise<EndedDelivery[]> {
  const ids = await cancelDeliveriesOf(tx, lane);
  const removed = await removeUnlockedAcrossWorkspaces(
    tx,
    ids.map((id) => ({ ...lane, id })),
  );
  return removed.map(({ id, lease_id: leaseId }) => ({ id, leaseId }));
}

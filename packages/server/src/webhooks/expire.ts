import { removeUnlocked } from "#jobs";
import type { Db, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import {
  deleteDeliveries,
  deleteExpiredEventsAcrossWorkspaces,
  failDeliveriesAcrossWorkspaces,
  findOverdueAcrossWorkspaces,
} from "./expiry-store.ts";

/** The maximum number of rows in one transaction. */
const CHUNK = 500;
/** The maximum number of deliveries of a deleted webhook in one statement. */
const SWEPT = 5_000;
const AGAIN_MS = 1_000;

/**
 * Ends deliveries that have been tried for three days. A delivery that is being sent is left for the next pass.
 *
 * @returns the wait until the next pass, in milliseconds; undefined when none was left
 */
export async function endOverdueAcrossWorkspaces(db: Transactional): Promise<number | undefined> {
  const { found, ended } = await db.transaction(async (tx) => {
    const overdue = await findOverdueAcrossWorkspaces(tx, CHUNK);
    // Jobs before deliveries, as settles lock them.
    for (const deliveries of Map.groupBy(overdue, ({ laneId }) => laneId).values()) {
      const [lane] = deliveries;
      const ids = deliveries.map(({ id }) => id);
      if (lane) await removeUnlocked(tx, lane, ids);
    }
    const failed = overdue.length > 0 ? await failDeliveriesAcrossWorkspaces(tx, overdue) : [];
    return { found: overdue.length, ended: failed.length };
  });
  if (found === 0) return undefined;
  return found === CHUNK && ended > 0 ? 0 : AGAIN_MS;
}

/**
 * Deletes events whose retention has ended, with their deliveries.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const sweepWebhookEventsAcrossWorkspaces = async (db: Transactional): Promise<number | undefined> =>
  (await deleteExpiredEventsAcrossWorkspaces(db, CHUNK)) === CHUNK ? 0 : undefined;

/**
 * Deletes a portion of the deliveries of a deleted webhook. Their events stay for other webhooks, until their retention ends.
 *
 * @returns whether there may be more
 */
export const sweepLaneDeliveries = async (db: Db, lane: LaneKey): Promise<boolean> => (await deleteDeliveries(db, lane, SWEPT)) === SWEPT;

import type { Claim } from "#jobs";
import { Batcher, type Db } from "#kernel";
import { cancelUnwantedAcrossWorkspaces } from "./delivery-store.ts";

const MAX_DELIVERIES = 100;

/**
 * Checks whether deliveries of switched-off webhooks may be sent, and cancels those that may not: many may not be cancelled yet. False: the
 * delivery has ended, or another transaction has locked it.
 */
export type UnwantedDeliveries = Pick<Batcher<Claim, boolean>, "add">;

export const unwantedDeliveries = (db: Db): UnwantedDeliveries =>
  new Batcher({
    maxWeight: MAX_DELIVERIES,
    writers: 1,
    workspaceOf: ({ workspaceId }) => workspaceId,
    write: async (claims) => {
      const wanted = await cancelUnwantedAcrossWorkspaces(db, claims);
      return claims.map(({ id }) => wanted.has(id));
    },
  });

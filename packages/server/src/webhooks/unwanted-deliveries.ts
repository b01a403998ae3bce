import type { Claim } from "#jobs";
import { Batcher, type Db } from "#kernel";
import { cancelUnwantedAcrossWorkspaces } from "./delivery-store.ts";

const MAX_DELIVERIES = 100;

/**
 * Looks whether deliveries may be sent whose webhook is switched off, and cancels them otherwise: there may be many that are not cancelled
 * yet. False: it has ended, or another transaction has locked it.
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

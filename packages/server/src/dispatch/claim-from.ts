import type { Transactional } from "#kernel";
import type { LaneKey } from "./claim.ts";
import { claimAcrossWorkspaces, lockLanes } from "./store.ts";

/**
 * Claims jobs of lanes that all have limits, or that all have none. From lanes with limits one node claims at a time: what is free of
 * a limit is read once nobody else can take it (I6).
 */
export const claimFrom = (
  db: Transactional,
  nodeId: number,
  shares: readonly { readonly lane: LaneKey; readonly take: number }[],
  limited: boolean,
): ReturnType<typeof claimAcrossWorkspaces> => {
  const lanes = shares.map(({ lane: { workspaceId, laneId }, take }) => ({ workspaceId, laneId, take }));
  if (!limited) return claimAcrossWorkspaces(db, nodeId, lanes, limited);
  return db.transaction(async (tx) => {
    await lockLanes(tx, lanes);
    return claimAcrossWorkspaces(tx, nodeId, lanes, limited);
  });
};

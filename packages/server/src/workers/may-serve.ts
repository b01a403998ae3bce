import type { Principal } from "#http";
import { type Db, problem } from "#kernel";
import type { Proven } from "./prove-claims.ts";
import { findLanes } from "./store.ts";

/** Whether a key may serve a queue: any of its workspace, unless it is bound to some. */
export const mayServe = ({ queues }: Pick<Principal, "queues">, queue: string): boolean => queues === null || queues.includes(queue);

/** @throws FORBIDDEN for a queue that the key is not bound to */
export function checkMayServe(principal: Principal, queue: string): void {
  if (!mayServe(principal, queue)) throw problem("FORBIDDEN", { queue }, { message: `The key is not bound to the queue "${queue}".` });
}

/** Claims in their order, with null for those on jobs of queues that the key may not serve. */
export async function servedClaims(
  db: Db,
  { workspaceId, queues }: Principal,
  claims: readonly (Proven | null)[],
): Promise<readonly (Proven | null)[]> {
  if (queues === null) return claims;
  const lanes = new Set((await findLanes(db, workspaceId, "queue", queues)).map(({ laneId }) => laneId));
  return claims.map((one) => (one && lanes.has(one.claim.laneId) ? one : null));
}

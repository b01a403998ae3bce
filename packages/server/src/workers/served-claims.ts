import { type Principal, type Served, servedBy } from "#http";
import type { Db } from "#kernel";
import { findLanes } from "./store.ts";
import type { VerifiedClaim } from "./verify-lease-tokens.ts";

/** The kind of lane in which jobs of a kind wait. */
export const servedAs = ({ kind }: { readonly kind: string }): Served => (kind === "queue" ? "queue" : "workflow");

/** Whether the caller may serve a job, with the name of its queue or workflow. */
export type MayServe = (job: { readonly kind: string }, name: string) => boolean;

/** Claims in their order, with null for those on work that the key may not serve. */
export async function servedClaims(
  db: Db,
  principal: Principal,
  claims: readonly (VerifiedClaim | null)[],
): Promise<readonly (VerifiedClaim | null)[]> {
  const lanes = new Set<number>();
  for (const kind of ["queue", "workflow"] as const) {
    const names = servedBy(principal, kind);
    if (names === null) return claims;
    if (names.length > 0) for (const { laneId } of await findLanes(db, principal.workspaceId, kind, names)) lanes.add(laneId);
  }
  return claims.map((one) => (one && lanes.has(one.claim.laneId) ? one : null));
}

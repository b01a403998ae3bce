import { type Db, plainArray, rows, sql, type WorkspaceId } from "#kernel";

/** How many requests a workspace has left. Times are milliseconds since 1970. */
export interface Rate {
  readonly remaining: number;
  /** When `remaining` grows again. */
  readonly moreAtMs: number;
  /** When the whole limit is available again if no more requests are sent. */
  readonly resetsAtMs: number;
}

export interface RateDemand {
  readonly workspaceId: WorkspaceId;
  readonly limit: number;
  /** How many requests are wanted. 0 only reads the rate. */
  readonly wanted: number;
}

/**
 * Takes requests of workspaces, and returns how many of those wanted each was granted. A workspace occurs at most once in `demands`.
 * Uses index request_rate_pkey.
 */
export const takeRequestsAcrossWorkspaces = (
  db: Db,
  demands: readonly RateDemand[],
): Promise<(Rate & { readonly workspaceId: WorkspaceId; readonly granted: number })[]> =>
  rows(
    db,
    sql`
      select workspace as "workspaceId", granted, remaining, more_at as "moreAtMs", all_at as "resetsAtMs"
      from take_requests(${plainArray(demands.map(({ workspaceId }) => workspaceId))}::uuid[],
        ${plainArray(demands.map(({ limit }) => limit))}::integer[], ${plainArray(demands.map(({ wanted }) => wanted))}::integer[])`,
  );

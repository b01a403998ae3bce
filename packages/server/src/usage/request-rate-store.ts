import { type Db, plainArray, rows, sql, type WorkspaceId } from "#kernel";

/** What a workspace has left of its requests. Milliseconds since 1970. */
export interface Rate {
  readonly remaining: number;
  /** When more is left than now. */
  readonly moreAtMs: number;
  /** When the whole limit is left if nothing more is sent. */
  readonly resetsAtMs: number;
}

export interface RateDemand {
  readonly workspaceId: WorkspaceId;
  readonly limit: number;
  /** None is a look. */
  readonly wanted: number;
}

/** Takes requests of workspaces, each of which comes once; answers how many of those wanted each was granted. Leans on request_rate_pkey. */
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

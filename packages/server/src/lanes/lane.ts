import { plansWith } from "@tidemill/contract";
import { textArray, type WorkspaceId } from "#kernel";

/** Names a lane, over all workspaces. */
export type LaneId = number & { readonly __of: "lane" };

/** What jobs wait in, by what owns it. */
export type LaneKind = "queue";

/** Who takes the jobs of a lane: the node delivers them, workers ask for them, or nobody does. */
export type LaneService = "push" | "pull" | "none";

/** What names a lane in statements, which lead with the workspace (I11). */
export interface LaneKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}

/** Limits and defaults of a lane; `undefined` leaves a setting as it is, or gives a new lane the database's default. */
export interface LaneSettings {
  readonly served: LaneService | undefined;
  readonly paused: boolean | undefined;
  /** Jobs in flight at once. Null: no limit. */
  readonly concurrency: number | null | undefined;
  readonly concurrencyPerKey: number | undefined;
  /** Starts of jobs in any `rateSeconds`. Null, both: no limit. */
  readonly rateMax: number | null | undefined;
  readonly rateSeconds: number | null | undefined;
  readonly attempts: number | undefined;
  readonly backoffDelayMs: number | undefined;
  readonly attemptTimeoutSeconds: number | undefined;
}

/** The plans on which nodes deliver jobs, for statements. */
export const DELIVERING_PLANS: string = textArray(plansWith("callback_url"));

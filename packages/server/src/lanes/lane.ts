import { plansWith } from "@tidemill/contract";
import { textArray, type WorkspaceId } from "#kernel";

/** Identifies a lane among those of all workspaces. */
export type LaneId = number & { readonly __of: "lane" };

/** What a lane belongs to. A lane of kind `http` has the HTTP calls of a workflow, and the workflow's name. */
export type LaneKind = "queue" | "workflow" | "http" | "webhook";

/** How the jobs of a lane are served: nodes deliver them (push), workers fetch them (pull), or neither (none). */
export type LaneService = "push" | "pull" | "none";

/** Identifies a lane in statements, which start with the workspace (I11). */
export interface LaneKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}

/** Limits and defaults of a lane. `undefined` leaves a setting unchanged; a new lane gets the database's default. */
export interface LaneSettings {
  readonly served: LaneService | undefined;
  readonly paused: boolean | undefined;
  /** Jobs in flight at once. Null: no limit. */
  readonly concurrency: number | null | undefined;
  readonly concurrencyPerKey: number | undefined;
  /** How many jobs may start in any span of `rateSeconds`. Both null: no limit. */
  readonly rateMax: number | null | undefined;
  readonly rateSeconds: number | null | undefined;
  readonly attempts: number | undefined;
  readonly backoffDelayMs: number | undefined;
  readonly attemptTimeoutSeconds: number | undefined;
}

/** The plans on which nodes deliver jobs, as an array literal for statements. */
export const DELIVERING_PLANS: string = textArray(plansWith("callback_url"));

import type { RunStatus } from "@tidemill/contract";
import type { RunRecord } from "./timeline/rows.ts";

/** Why a run has no result, by its status. A record, so that none is forgotten. */
const WHY: Readonly<Record<RunStatus, (run: RunRecord) => string>> = {
  pending: ({ startedAt }) => (startedAt === null ? "None yet: the run has not started." : "None yet: another attempt follows."),
  running: () => "None yet: the run is under way.",
  sleeping: () => "None yet: the run sleeps.",
  waiting: () => "None yet: the run waits.",
  completed: () => "The run returned nothing.",
  failed: ({ error }) => (error ? `None: the run failed with ${error.name}: ${error.message}` : "None: the run failed."),
  cancelled: () => "None: the run was cancelled.",
};

export const noResult = (run: RunRecord): string => WHY[run.status](run);

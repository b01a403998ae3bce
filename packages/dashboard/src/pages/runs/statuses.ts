import type { RunStatus } from "@tidemill/contract";

/** The statuses of runs, in order of life. A record, so that none is forgotten. */
const STATUSES: Readonly<Record<RunStatus, true>> = {
  pending: true,
  running: true,
  sleeping: true,
  waiting: true,
  completed: true,
  failed: true,
  cancelled: true,
};

export const RUN_STATUSES = Object.keys(STATUSES) as readonly RunStatus[];

/** The statuses of a run that has ended. */
export const hasEnded = (status: RunStatus): boolean => status === "completed" || status === "failed" || status === "cancelled";

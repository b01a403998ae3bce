import type { JobState } from "@tidemill/contract";
import type { JobRecord } from "./job-record.ts";

/** Why a job has no result, by its state. A record, so that none is forgotten. */
const WHY: Readonly<Record<JobState, (job: JobRecord) => string>> = {
  waiting: () => "None yet: the job waits to start.",
  delayed: ({ attempt }) =>
    attempt === 0 ? "None yet: the job is not due." : `None yet: attempt ${attempt} did not succeed, and another one follows.`,
  pending_approval: () => "None yet: the job waits for an approval.",
  active: ({ attempt }) => `None yet: attempt ${attempt} is under way.`,
  completed: () => "The handler returned nothing.",
  failed: ({ last_error }) =>
    last_error ? `None: the job failed with ${last_error.code}: ${last_error.message}` : "None: the job failed.",
  cancelled: () => "None: the job was cancelled.",
  rejected: () => "None: the approval was rejected.",
};

export const noResult = (job: JobRecord): string => WHY[job.state](job);

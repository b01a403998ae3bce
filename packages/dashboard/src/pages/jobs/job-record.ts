import type { JobWithLog } from "@tidemill/contract";
import type { Read } from "../../api/raw-json.ts";

/** A job with its attempts, as the dashboard reads it. */
export type JobRecord = Read<JobWithLog>;

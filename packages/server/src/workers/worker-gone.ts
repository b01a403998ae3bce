/** A worker that has not called for this long has gone. It waits up to 30 s for a job, and the time of its call is written up to 30 s later. */
export const WORKER_GONE_SECONDS = 90;

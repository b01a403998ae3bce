import { fragment } from "#kernel";

/** A worker that has not called for this long has gone. It waits up to 30 s for a job, and the time of its call is written up to 30 s later. */
export const WORKER_GONE_SECONDS = 90;

/** Whether the worker with the lease `held` holds a job of the lease's workspace: then it is busy, however long ago it called. */
export const WORKER_HOLDS_A_JOB = fragment`
  exists (
    select from job
    where job.lease_id = held.id and job.state = 'active' and job.workspace_id is not distinct from held.workspace_id
      and job.lease_until > moment())`;

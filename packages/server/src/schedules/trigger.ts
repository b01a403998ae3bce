import { insertJobsAcrossWorkspaces, type JobRow, recordOf } from "#jobs";
import { type Db, type JobId, problem, type Transactional } from "#kernel";
import { takeExecutions } from "#usage";
import { bringUpToDate, type UpToDate } from "./bring-up-to-date.ts";
import { jobOf } from "./draft.ts";
import type { Fired, Firing } from "./fire.ts";
import type { Caller } from "./schedule.ts";
import { storeLastRun } from "./store.ts";
import { tellTriggered } from "./tell.ts";

/** A job that a schedule made by hand, and what was to be acted on besides it. */
export interface Triggered {
  readonly job: JobRow;
  readonly queue: string;
  readonly fired: Fired;
}

/**
 * Makes a schedule's job now, be it paused or one of its jobs under way; what was due before is fired first.
 *
 * @throws NOT_FOUND; QUOTA_EXCEEDED
 */
export const triggerSchedule = (database: Transactional, firing: Firing, caller: Caller, name: string): Promise<Triggered> =>
  database.transaction(async (tx) => {
    const held = await bringUpToDate(tx, firing, caller.workspaceId, name);
    const [refusal] = await takeExecutions(tx, [{ workspaceId: caller.workspaceId, executions: 1 }]);
    if (refusal) throw refusal;
    const triggered = await insertJob(tx, firing, held);
    await storeLastRun(tx, held.schedule, triggered.job.id, held.nowMs);
    await tellTriggered(tx, firing.audit, caller, name, triggered.job.id);
    return triggered;
  });

async function insertJob(tx: Db, { ids }: Firing, { schedule, nowMs, fired }: UpToDate): Promise<Triggered> {
  const { workspace_id: workspaceId, queue } = schedule;
  const job = jobOf(schedule, ids.next() as JobId, nowMs);
  const [stored] = await insertJobsAcrossWorkspaces(tx, null, [{ workspaceId, queue, jobs: [job] }]);
  const inserted = stored?.[0];
  if (!inserted) throw problem("NOT_FOUND");
  const lanes = inserted.state === "waiting" ? [...fired.lanes, { workspaceId, laneId: inserted.laneId }] : fired.lanes;
  return { job: recordOf(job, inserted), queue, fired: { ...fired, jobs: fired.jobs + 1, lanes } };
}

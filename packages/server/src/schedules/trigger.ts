import { insertJobsAcrossWorkspaces, type JobRow, recordOf } from "#jobs";
import type { Db, JobId, Transactional } from "#kernel";
import { takeExecutions } from "#usage";
import { type Changing, changeSchedule, type UpToDate } from "./change.ts";
import { jobOf } from "./draft.ts";
import type { Fired, Firing } from "./fire.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Caller } from "./schedule.ts";
import { storeLastRun } from "./store.ts";
import { tellTriggered } from "./tell.ts";

/** A job that a schedule made by hand. */
export interface Triggered {
  readonly job: JobRow;
  readonly queue: string;
}

/**
 * Makes a schedule's job now, be it paused or one of its jobs under way; what was due before is fired first.
 *
 * @throws NOT_FOUND; QUOTA_EXCEEDED
 */
export async function triggerSchedule(database: Transactional, changing: Changing, caller: Caller, name: string): Promise<Triggered> {
  const { workspaceId } = caller;
  const { fired, ...triggered } = await changeSchedule(database, changing, { workspaceId, name }, async (tx, held) => {
    const [refusal] = await takeExecutions(tx, [{ workspaceId, executions: 1 }]);
    if (refusal) {
      changing.emit("executions_refused", { requests: 1 });
      throw refusal;
    }
    const made = await insertJob(tx, changing, held);
    await storeLastRun(tx, held.schedule, made.job.id, held.atMs);
    await tellTriggered(tx, changing.audit, caller, name, made.job.id);
    return made;
  });
  changing.onFired(fired);
  return triggered;
}

async function insertJob(tx: Db, { ids }: Firing, { schedule, atMs }: UpToDate): Promise<Triggered & { fired: Fired }> {
  const { workspace_id: workspaceId, queue } = schedule;
  const job = jobOf(schedule, ids.next() as JobId, atMs);
  const [stored] = await insertJobsAcrossWorkspaces(tx, null, [{ workspaceId, queue, jobs: [job] }]);
  const inserted = stored?.[0];
  if (!inserted) throw await scheduleNotFound(tx, workspaceId, schedule.name);
  const lanes = inserted.state === "waiting" ? [{ workspaceId, laneId: inserted.laneId }] : [];
  return { job: recordOf(job, inserted), queue, fired: { jobs: 1, lanes, nextMs: null } };
}

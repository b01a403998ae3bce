import type { Actor } from "#audit";
import { insertJobsAcrossWorkspaces, type JobRow, recordOf } from "#jobs";
import type { Db, JobId, Transactional } from "#kernel";
import { takeExecutions } from "#usage";
import { auditTriggered } from "./audit.ts";
import { type ChangeContext, changeSchedule, type LockedSchedule } from "./change.ts";
import { type FireContext, type FireResult, lanesToWake } from "./fire.ts";
import { scheduleNotFound } from "./not-found.ts";
import { scheduledJob } from "./prepare-writes.ts";
import { storeLastRun } from "./store.ts";

/** A job that a trigger created. */
export interface Triggered {
  readonly job: JobRow;
  readonly queue: string;
}

/**
 * Creates a job of a schedule now, even if the schedule is paused or an earlier job has not finished. Ticks that are already due are
 * fired first.
 *
 * @throws NOT_FOUND; QUOTA_EXCEEDED
 */
export async function triggerSchedule(database: Transactional, context: ChangeContext, actor: Actor, name: string): Promise<Triggered> {
  const { workspaceId } = actor;
  const { fired, ...triggered } = await changeSchedule(database, context, { workspaceId, name }, async (tx, locked) => {
    const [refusal] = await takeExecutions(tx, [{ workspaceId, executions: 1 }]);
    if (refusal) {
      context.emit("executions_refused", { requests: 1 });
      throw refusal;
    }
    const inserted = await insertJob(tx, context, locked);
    await storeLastRun(tx, locked.schedule, inserted.job.id, locked.atMs);
    await auditTriggered(tx, context.audit, actor, name, inserted.job.id);
    return inserted;
  });
  context.onFired(fired);
  return triggered;
}

async function insertJob(tx: Db, { ids }: FireContext, { schedule, atMs }: LockedSchedule): Promise<Triggered & { fired: FireResult }> {
  const { workspace_id: workspaceId, queue } = schedule;
  const job = scheduledJob(schedule, ids.next() as JobId, atMs);
  const [stored] = await insertJobsAcrossWorkspaces(tx, null, [{ workspaceId, queue, jobs: [job] }]);
  const inserted = stored?.[0];
  if (!inserted) throw await scheduleNotFound(tx, workspaceId, schedule.name);
  const [lanes, pulled] = [lanesToWake(workspaceId, inserted, "push"), lanesToWake(workspaceId, inserted, "pull")];
  return {
    job: recordOf(job, inserted),
    queue,
    fired: { jobs: 1, lanes, pulled, workflows: [], workspaceIds: [workspaceId], nextMs: null },
  };
}

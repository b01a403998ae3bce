import { approveJob, findJob, JOB_MOVES, type JobActor, type JobKey, type JobRow, jobNotFound, type Ruling, rejectJob } from "#jobs";
import { invalidState, type Transactional } from "#kernel";
import { auditDecided } from "./audit.ts";

const STATEMENTS = { approved: approveJob, rejected: rejectJob };
const MOVES = { approved: JOB_MOVES.approve, rejected: JOB_MOVES.reject };

/**
 * Decides a job that is pending approval: an approved job may start, a rejected job is finished. When several decisions, cancels or
 * the time-out race, one of them wins. The decision is audited in the same transaction. Source: contract §5.
 *
 * @throws NOT_FOUND; INVALID_STATE when the job is not pending approval
 */
export async function decideJob(database: Transactional, actor: JobActor, key: JobKey, ruling: Ruling): Promise<JobRow> {
  // A retry between the two statements can bring a cancelled job back. Then the decision is tried again.
  for (;;) {
    const decided = await database.transaction(async (tx) => {
      const moved = await STATEMENTS[ruling.decision](tx, key, ruling);
      if (moved) await auditDecided(tx, actor, key, ruling);
      return moved;
    });
    if (decided) return decided;
    const job = await findJob(database, key);
    if (!job) throw jobNotFound(key.id, actor.queue);
    const allowedFrom: readonly string[] = MOVES[ruling.decision].from;
    if (!allowedFrom.includes(job.state)) throw invalidState(job.state, allowedFrom);
  }
}

import { approveJob, findJob, type Hand, JOB_MOVES, type JobKey, type JobRow, jobNotFound, type Ruling, rejectJob } from "#jobs";
import { problem, type Transactional } from "#kernel";
import { tellDecided } from "./tell.ts";

const STATEMENTS = { approved: approveJob, rejected: rejectJob };
const MOVES = { approved: JOB_MOVES.approve, rejected: JOB_MOVES.reject };

/**
 * Decides a job that waits for it: an approved one may start, a rejected one is finished. Of several who decide at the same moment,
 * or cancel it, or come as its time is up, one wins. Audited in the same transaction. Source: contract §5.
 *
 * @throws NOT_FOUND; INVALID_STATE when it does not wait to be decided, or no more
 */
export async function decideJob(database: Transactional, hand: Hand, key: JobKey, ruling: Ruling): Promise<JobRow> {
  // A retry by hand between the two statements brings a cancelled job back: then it is decided after all.
  for (;;) {
    const decided = await database.transaction(async (tx) => {
      const moved = await STATEMENTS[ruling.decision](tx, key, ruling);
      if (moved) await tellDecided(tx, hand, key, ruling);
      return moved;
    });
    if (decided) return decided;
    const job = await findJob(database, key);
    if (!job) throw jobNotFound(key.id, hand.queue);
    const allowedFrom: readonly string[] = MOVES[ruling.decision].from;
    if (!allowedFrom.includes(job.state)) throw problem("INVALID_STATE", { state: job.state, allowed_from: allowedFrom });
  }
}

import { toMoment } from "#kernel";
import type { JobRow } from "./job.ts";
import type { InsertedJob, JobToInsert } from "./store/insert.ts";

/** The job as it was accepted. A job that starts eagerly is shown as `waiting` here, and as `active` from then on. */
export function recordOf(input: JobToInsert, inserted: InsertedJob): JobRow {
  return {
    id: input.id,
    state: inserted.state === "active" ? "waiting" : inserted.state,
    priority: input.priority,
    attempt: 0,
    spared: 0,
    attempts: inserted.attempts,
    run_at: inserted.runAt,
    created_at: inserted.createdAt,
    started_at: null,
    finished_at: null,
    tag: input.tag,
    concurrency_key: input.concurrencyKey,
    payload: input.payload,
    result: null,
    last_error: null,
    schedule: input.tick?.schedule ?? null,
    scheduled_for: input.tick && toMoment(input.tick.atMs),
    idempotency_key: input.idempotency?.key ?? null,
    approval: null,
  };
}

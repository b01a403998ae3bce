import { setTimeout as wait } from "node:timers/promises";
import { type Db, type EmitEvent, row, rows, sql, type Transactional, tolerate, type WorkspaceId } from "#kernel";

/** A count of millions of jobs takes longer than other statements may. Milliseconds. */
const TIMEOUT_MS = 300_000;
const CANCEL_EVERY_MS = 100;

interface RecountOptions {
  readonly db: Transactional;
  /** Cancels a count. It must not be the connection of `db`, which the count may hold. */
  readonly canceller: Db;
  readonly emit: EmitEvent;
}

/**
 * Compares the stored number of jobs with the jobs, workspace by workspace, and corrects it. The number is wrong only after nodes of a
 * version before migration 0023 ran beside newer ones, or after a change of jobs by hand. One node at a time counts. It skips workspaces
 * that any node has counted, or failed to count, in the last 12 hours.
 */
export class JobRecount {
  readonly #options: RecountOptions;
  /** The workspace that was counted last. */
  #last: WorkspaceId | null = null;
  /** The process in PostgreSQL that counts. */
  #backend: number | null = null;
  #isCancelled = false;

  constructor(options: RecountOptions) {
    this.#options = options;
  }

  /**
   * Counts the jobs of the next workspace.
   *
   * @returns 0 when there may be another one, in milliseconds; undefined: none is left, or another node counts
   */
  async passAcrossWorkspaces(): Promise<number | undefined> {
    const { db, emit } = this.#options;
    let next: WorkspaceId | null = null;
    let lanes = 0;
    try {
      await db.transaction(async (tx) => {
        this.#backend = await lock(tx);
        if (this.#backend === null) return;
        next = await findNext(tx, this.#last);
        if (next === null || this.#isCancelled) return;
        lanes = await recount(tx, next);
        await record(tx, next);
      });
    } catch (error) {
      if (this.#isCancelled) return undefined;
      if (next !== null) await record(db, next);
      throw error;
    } finally {
      this.#backend = null;
    }
    if (lanes > 0) emit("counts_corrected", { lanes });
    this.#last = next;
    return next === null ? undefined : 0;
  }

  /** Ends a count that is running: a node that stops must not wait for minutes. */
  async cancel(): Promise<void> {
    this.#isCancelled = true;
    // Repeated, because between two statements there is nothing to cancel.
    for (let pid = this.#backend; pid !== null; pid = this.#backend) {
      const backend = pid;
      await tolerate(
        () => cancelBackend(this.#options.canceller, backend),
        (error) => this.#options.emit("recount_cancel_failed", { error }),
      );
      await wait(CANCEL_EVERY_MS);
    }
  }
}

/**
 * Returns the id of the process in PostgreSQL. Null: another node is counting. `recount_jobs` takes the same lock, and would wait for it.
 */
async function lock(tx: Db): Promise<number | null> {
  const lock = await row<{ pid: number | null }>(
    tx,
    sql`select case when pg_try_advisory_xact_lock(7305512014) then pg_backend_pid() end as pid`,
  );
  return lock?.pid ?? null;
}

/** Uses the primary keys. */
const findNext = async (db: Db, last: WorkspaceId | null): Promise<WorkspaceId | null> =>
  (
    await row<{ id: WorkspaceId }>(
      db,
      sql`
        select w.id from workspace w
        where w.id > coalesce(${last}::uuid, '00000000-0000-0000-0000-000000000000') and w.deleted_at is null and not exists (
          select from job_recount c where c.workspace_id = any(array[w.id]) and c.at > moment() - interval '12 hours' offset 0)
        order by w.id limit 1`,
    )
  )?.id ?? null;

/** Returns how many lanes were wrong. */
async function recount(tx: Db, workspaceId: WorkspaceId): Promise<number> {
  await rows(tx, sql`select set_config('statement_timeout', ${String(TIMEOUT_MS)}, true)`);
  // The driver has a timeout of its own. Without this one, the server would continue to count beside the next try.
  const statement = { ...sql`select recount_jobs(${workspaceId}::uuid) as lanes`, query_timeout: TIMEOUT_MS + 5_000 };
  return (await row<{ lanes: number }>(tx, statement))?.lanes ?? 0;
}

const record = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into job_recount (workspace_id, at) select id, moment() from workspace where id = ${workspaceId}
      on conflict (workspace_id) do update set at = excluded.at`,
  );

/** Cancels the process only while it holds the lock: then its connection is not in use for anything else. */
const cancelBackend = (db: Db, pid: number): Promise<unknown> =>
  rows(
    db,
    sql`
      select pg_cancel_backend(pid) from pg_locks
      where pid = ${pid} and locktype = 'advisory' and granted and (classid::bigint << 32) + objid::bigint = 7305512014`,
  );

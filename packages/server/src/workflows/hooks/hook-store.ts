import type { Hook, Run } from "@tidemill/contract";
import { type Db, type JobId, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { RunKey } from "../runs/run.ts";

/** Identifies a hook of a run, by its job. */
export interface HookKey {
  readonly workspaceId: WorkspaceId;
  readonly id: JobId;
}

/** A hook that is to fire. */
export interface HookToInsert extends HookKey {
  readonly runId: RunId;
  readonly hook: Hook;
}

export const insertHooksAcrossWorkspaces = (tx: Db, hooks: readonly HookToInsert[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      insert into run_hook (workspace_id, id, run_id, hook)
      select * from unnest(${plainArray(hooks.map((one) => one.workspaceId))}::uuid[], ${plainArray(hooks.map((one) => one.id))}::uuid[],
        ${plainArray(hooks.map((one) => one.runId))}::uuid[], ${textArray(hooks.map((one) => one.hook))}::text[])`,
  );

/** A hook of a run. */
export interface RunHook {
  readonly run_id: RunId;
  readonly hook: Hook;
  readonly workflow: string;
}

/** A hook that has ended. */
export interface EndedHook extends RunHook {
  /** Whether it was recorded as slow while it ran. */
  readonly was_slow: boolean;
}

/** A hook that is slow, and still runs. */
export interface SlowHook extends RunHook {
  readonly workspace_id: WorkspaceId;
  readonly took_ms: number;
}

/**
 * Marks hooks that have run for longer than `slowMs`, each once, and returns them. Leaves out hooks that are just ending. Uses index
 * job_hook_active and the primary keys.
 */
export const markSlowHooksAcrossWorkspaces = (tx: Db, slowMs: number, limit: number): Promise<SlowHook[]> =>
  rows(
    tx,
    sql`
      with slow as (
        select h.workspace_id, h.id, j.started_at from job j join run_hook h on h.workspace_id = j.workspace_id and h.id = j.id
        where j.kind = 'hook' and j.state = 'active' and j.started_at < moment() - ${slowMs} * interval '1 millisecond' and h.slow_at is null
        order by j.started_at limit ${limit} for update of h skip locked
      ), marked as (
        update run_hook h set slow_at = moment() from slow s where h.workspace_id = s.workspace_id and h.id = s.id
        returning h.workspace_id, h.run_id, h.hook, trunc(extract(epoch from moment() - s.started_at) * 1000)::float8 as took_ms
      )
      select m.workspace_id, m.run_id, m.hook, m.took_ms, l.name as workflow from marked m
      join run r on r.workspace_id = m.workspace_id and r.id = m.run_id join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id`,
  );

/** A hook has returned. Returns null when its run is gone. Uses the primary key. */
export const removeHook = (tx: Db, { workspaceId, id }: HookKey): Promise<EndedHook | null> =>
  row(
    tx,
    sql`
      with gone as (delete from run_hook where workspace_id = ${workspaceId} and id = ${id} returning run_id, hook, slow_at)
      select g.run_id, g.hook, g.slow_at is not null as was_slow, l.name as workflow from gone g
      join run r on r.workspace_id = ${workspaceId} and r.id = g.run_id join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id`,
  );

/** A hook has failed. Returns null when its run is gone. Uses the primary key. */
export const recordHookError = (tx: Db, { workspaceId, id }: HookKey, message: string): Promise<EndedHook | null> =>
  row(
    tx,
    sql`
      with failed as (
        update run_hook set message = ${message}, occurred_at = moment() where workspace_id = ${workspaceId} and id = ${id}
        returning run_id, hook, slow_at
      )
      select f.run_id, f.hook, f.slow_at is not null as was_slow, l.name as workflow from failed f
      join run r on r.workspace_id = ${workspaceId} and r.id = f.run_id join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id`,
  );

/** The errors of a run's hooks, oldest first. Uses index run_hook_run. */
export const findHookErrors = (db: Db, { workspaceId, id }: RunKey): Promise<Run["hookErrors"]> =>
  rows(
    db,
    sql`
      select hook, message, occurred_at as "occurredAt" from run_hook
      where workspace_id = ${workspaceId} and run_id = ${id} and message is not null order by occurred_at, id`,
  );

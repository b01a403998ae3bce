import type { PutWorkflow } from "@tidemill/contract";
import {
  CUT_PAGE,
  type Db,
  fragment,
  MAX_SCANNED_ROWS,
  type PageRow,
  plainArray,
  row,
  rows,
  sql,
  textArray,
  type WorkspaceId,
} from "#kernel";
import { findRecordsAcrossWorkspaces, type LaneId, type LaneKey } from "#lanes";
import type { Workflow } from "./workflow.ts";

const RECORDS = fragment`workflow_record`;

/** Uses index lane_name. */
export const findWorkflow = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Workflow | null> =>
  row(
    db,
    sql`
      select w.* from lane l join workflow_record w on w.workspace_id = l.workspace_id and w.id = l.id
      where l.workspace_id = ${workspaceId} and l.kind = 'workflow' and l.name = ${name} and l.deleted_at is null`,
  );

/** What a trigger needs to know about its workflow. */
export interface Triggered {
  readonly laneId: LaneId;
  readonly attempts: number;
  readonly backoffDelayMs: number;
}

/** The workflows of triggers; null for one that does not exist. Uses index lane_name. */
export const findTriggeredAcrossWorkspaces = async (
  db: Db,
  triggers: readonly { readonly workspaceId: WorkspaceId; readonly workflow: string }[],
): Promise<(Triggered | null)[]> =>
  (
    await rows<{ workflow: Triggered | null }>(
      db,
      sql`
        select case when l.id is not null then
          json_build_object('laneId', l.id, 'attempts', l.attempts, 'backoffDelayMs', l.backoff_delay_ms) end as workflow
        from unnest(${plainArray(triggers.map((one) => one.workspaceId))}::uuid[], ${textArray(triggers.map((one) => one.workflow))}::text[])
          with ordinality t (workspace_id, name, number)
        left join lane l on l.workspace_id = any(array[t.workspace_id]) and l.kind = 'workflow' and l.name = t.name and l.deleted_at is null
        order by t.number`,
    )
  ).map(({ workflow }) => workflow);

/** Uses the primary keys. */
export const findWorkflowOfLane = (db: Db, { workspaceId, laneId }: LaneKey): Promise<Workflow | null> =>
  row(db, sql`select * from workflow_record where workspace_id = ${workspaceId} and id = ${laneId}`);

/** The workflows of these lanes, in any order. Uses the primary keys. */
export const findWorkflowsAcrossWorkspaces = (db: Db, lanes: readonly LaneKey[]): Promise<Workflow[]> =>
  findRecordsAcrossWorkspaces(db, RECORDS, lanes);

/** Stores the settings of a workflow that its lane does not have. Uses the primary key. */
export const putWorkflowOfLane = (
  db: Db,
  { workspaceId, laneId }: LaneKey,
  { version = null, hooks = [], endpoint_url = null }: PutWorkflow,
  secret: string | null,
): Promise<unknown> =>
  rows(
    db,
    sql`
      insert into workflow (workspace_id, id, version, hooks, endpoint_url, endpoint_secret)
      values (${workspaceId}, ${laneId}, ${version}, ${textArray(hooks)}, ${endpoint_url}, ${secret})
      on conflict (workspace_id, id) do update set version = excluded.version, hooks = excluded.hooks, endpoint_url = excluded.endpoint_url,
        endpoint_secret = excluded.endpoint_secret, updated_at = moment()`,
  );

/** A page of the workflows: newest first, those with an id below `before`. Uses the primary keys. */
export const listWorkflows = (
  db: Db,
  workspaceId: WorkspaceId,
  before: LaneId | null,
  limit: number,
): Promise<(Workflow & PageRow<LaneId>)[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select r.*, '' as payload, null::text as result
        from (select workspace_id, id from workflow
          where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before}) order by id desc limit ${MAX_SCANNED_ROWS}) w
        cross join lateral (select * from workflow_record r where r.workspace_id = w.workspace_id and r.id = w.id offset 0) r
        order by r.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from workflow where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before})
          order by id desc offset ${MAX_SCANNED_ROWS}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );

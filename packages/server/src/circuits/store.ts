import { type Db, fragment, plainArray, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

export interface CircuitRow {
  opened_at: Timestamp;
  probe_at: Timestamp;
  last_error: string;
}

/** Records when the circuits of CTE `gone` closed. */
const RECORD_CLOSED = fragment`
  insert into circuit_change (workspace_id, lane_id, at, opened) select workspace_id, lane_id, moment(), false from gone`;

/** Part of a settle: records when the circuits of CTE `opened` opened. */
export const RECORD_OPENED = fragment`
  insert into circuit_change (workspace_id, lane_id, at, opened) select "workspaceId", "laneId", moment(), true from opened`;

/** The circuit of a lane while it is open. Uses the primary key. */
export const findCircuit = (db: Db, { workspaceId, laneId }: LaneKey): Promise<CircuitRow | null> =>
  row(db, sql`select opened_at, probe_at, last_error from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId}`);

/** The open circuits of these lanes. Uses the primary key. */
export const findCircuitsOf = (
  db: Db,
  workspaceId: WorkspaceId,
  laneIds: readonly LaneId[],
): Promise<(CircuitRow & { lane_id: LaneId })[]> =>
  rows(
    db,
    sql`
      select lane_id, opened_at, probe_at, last_error from circuit
      where workspace_id = ${workspaceId} and lane_id = any(${plainArray(laneIds)}::bigint[])`,
  );

/** The lanes among these whose circuit is open. Uses the primary key. */
export const findOpenAcrossWorkspaces = async (db: Db, lanes: readonly LaneKey[]): Promise<ReadonlySet<LaneId>> => {
  const open = await rows<{ lane_id: LaneId }>(
    db,
    sql`
      select c.lane_id
      from unnest(${plainArray(lanes.map((one) => one.workspaceId))}::uuid[], ${plainArray(lanes.map((one) => one.laneId))}::bigint[])
        l (workspace_id, lane_id)
      join circuit c on c.workspace_id = l.workspace_id and c.lane_id = l.lane_id`,
  );
  return new Set(open.map(({ lane_id }) => lane_id));
};

/**
 * Closes the circuit if it opened under `revision` of the lane, or an older one. Returns null when it is already closed, or opened under
 * a later revision. Uses the primary key.
 */
export const closeCircuit = (
  db: Db,
  { workspaceId, laneId, revision }: LaneKey & { readonly revision: number },
): Promise<{ probes: number; open_ms: number } | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId} and revision <= ${revision}
        returning workspace_id, lane_id, probes, (extract(epoch from moment() - opened_at) * 1000)::float8 as open_ms
      ), recorded as (
        ${RECORD_CLOSED}
      )
      select probes, open_ms from gone`,
  );

/** Closes the circuit of a lane whose settings changed. Uses the primary key. */
export const resetCircuit = (db: Db, { workspaceId, laneId }: LaneKey): Promise<unknown> =>
  row(
    db,
    sql`
      with gone as (
        delete from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId} returning workspace_id, lane_id
      )
      ${RECORD_CLOSED}`,
  );

/**
 * Part of a claim, for the probes in CTE `picked` (the jobs that start): there is no further probe until this one has timed out, and
 * 5 s more, after which its node must be lost.
 */
export const RECORD_PROBES = fragment`
  update circuit c set probe_at = moment() + (picked.attempt_timeout_seconds + 5) * interval '1 second'
  from picked
  where picked.probe is not null and c.workspace_id = any(array[picked.workspace_id]) and c.lane_id = picked.lane_id`;

/** A circuit to open, unless the lane has changed since `revision`. */
export interface Opening extends LaneKey {
  readonly revision: number;
  readonly probeInMs: number;
  readonly error: string | null;
}

/** Part of a settle: opens the circuits of CTE `opening`, and returns their lanes. */
export const OPEN_CIRCUITS = fragment`
  insert into circuit (workspace_id, lane_id, revision, probe_at, last_error)
  select l.workspace_id, l.id, l.revision, moment() + o.probe_in_ms * interval '1 millisecond', o.error
  from opening o
  join lane l on l.workspace_id = o.workspace_id and l.id = o.lane_id and l.revision = o.revision and l.deleted_at is null
  order by l.workspace_id, l.id
  -- Waits for a change of the lane that is under way, and sees its result.
  for share of l
  on conflict do nothing
  returning workspace_id as "workspaceId", lane_id as "laneId"`;

/** A probe that did not close its circuit, and when the next one may start. */
export interface SpentProbe extends LaneKey {
  readonly failed: boolean;
  readonly probeInMs: number;
  readonly error: string | null;
}

/** Part of a settle: records the probes of CTE `spent_probe`. */
export const RECORD_SPENT_PROBES = fragment`
  update circuit c set probes = c.probes + p.failed::int, last_error = coalesce(p.error, c.last_error),
    probe_at = moment() + p.probe_in_ms * interval '1 millisecond'
  from spent_probe p
  where c.workspace_id = any(array[p.workspace_id]) and c.lane_id = p.lane_id`;

/** Deletes changes of circuits that are older than the retention of their workspace, or than a year. */
export const deleteOldCircuitChangesAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from circuit_change c using workspace w
      where w.id = c.workspace_id and c.at < moment() - coalesce(w.retention_days, 365) * interval '1 day'`,
  );

import { type Db, row, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { Claim } from "./claim.ts";

export interface CircuitRow {
  opened_at: Timestamp;
  probe_at: Timestamp;
  last_error: string;
}

/** The circuit of a lane while it is open. */
export const findCircuit = (db: Db, workspaceId: WorkspaceId, laneId: LaneId): Promise<CircuitRow | null> =>
  row(db, sql`select opened_at, probe_at, last_error from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId}`);

/** Closes what was open when the claim was made. Answers null when that was closed already, or has opened under later settings. */
export const closeCircuit = (db: Db, { workspaceId, laneId, revision }: Claim): Promise<{ probes: number; open_ms: number } | null> =>
  row(
    db,
    sql`
      delete from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId} and revision <= ${revision}
      returning probes, (extract(epoch from moment() - opened_at) * 1000)::float8 as open_ms`,
  );

/** Closes the circuit of a queue that was changed, whatever is known of its endpoint. */
export const forgetCircuit = (db: Db, workspaceId: WorkspaceId, laneId: LaneId): Promise<unknown> =>
  row(db, sql`delete from circuit where workspace_id = ${workspaceId} and lane_id = ${laneId}`);

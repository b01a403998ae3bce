import { type Db, plainArray, type RunId, rows, sql, type WorkspaceId } from "#kernel";
import { STEP_BYTES } from "./run.ts";

/** The input of a run, and how long it is together with what the steps of its journal hold. */
export interface RunWeight {
  readonly id: RunId;
  readonly bytes: number;
}

/** How large the journals of runs are, with their inputs. Uses the primary key. */
export const weighJournals = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<RunWeight[]> =>
  rows(
    db,
    sql`
      select id, (octet_length(input) + journal_bytes + steps * ${STEP_BYTES}::int)::float8 as bytes
      from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`,
  );

import { type Db, plainArray, type RunId, rows, sql, type WorkspaceId } from "#kernel";

/** The input of a run, and how long it is together with what the steps of its journal hold. */
export interface RunWeight {
  readonly id: RunId;
  readonly bytes: number;
}

/** How large the journals of runs are, with their inputs. Uses the primary keys. */
export const weighJournals = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<RunWeight[]> =>
  rows(
    db,
    sql`
      select r.id, (octet_length(r.input) + coalesce((
          select sum(octet_length(s.key) + coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0) + 200) from run_step s
          where s.workspace_id = ${workspaceId} and s.run_id = r.id), 0))::float8 as bytes
      from run r where r.workspace_id = ${workspaceId} and r.id = any(${plainArray(ids)}::uuid[])`,
  );

/** The inputs of runs, as JSON texts. Uses the primary key. */
export const readInputs = async (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<ReadonlyMap<RunId, string>> => {
  const found = await rows<{ id: RunId; input: string }>(
    db,
    sql`select id, input from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`,
  );
  return new Map(found.map(({ id, input }) => [id, input]));
};

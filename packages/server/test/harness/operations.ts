import { typeId, type Uuid } from "#kernel";
import { auditLog } from "./audit.ts";
import type { TestDatabase } from "./database.ts";

/** What an execution needs besides its database. It tells nobody. */
export const quiet = { audit: auditLog, waker: { wake: () => {} }, aborter: { abortJob: () => {} }, report: () => {} };

/** Inserts an operation that retries all jobs of the workspace. No node begins it before it has waited. Returns its id. */
export async function putOperation(database: TestDatabase, workspaceId: string, waits = "0 seconds"): Promise<string> {
  const [operation] = await database.query<{ id: Uuid }>(
    `insert into operation (workspace_id, id, action, state, filter, actor_id, matched, matched_exact, portion, portion_lanes, before_id, turn_at, created_at)
     values ($1, gen_random_uuid(), 'retry', 'running', '{}', 'system', 1, false, '{}', '{}', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
       moment() + $2::interval, moment()) returning id`,
    [workspaceId, waits],
  );
  return typeId("op", operation?.id as Uuid);
}

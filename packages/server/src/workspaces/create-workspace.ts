import { type CreatedWorkspace, type CreateWorkspace, PLANS } from "@tidemill/contract";
import type { Database, Db, WorkspaceId } from "#kernel";
import { createKey, type KeyMaker } from "./create-key.ts";
import { anyWorkspace, insertWorkspace, lockFirstWorkspace } from "./store.ts";
import { showWorkspaceId } from "./workspace.ts";

/** Makes a workspace with its first key, of role admin. Source: contract §2. */
export const createWorkspace = (database: Database, maker: KeyMaker, workspace: CreateWorkspace): Promise<CreatedWorkspace> =>
  database.transaction((tx) => create(tx, maker, workspace));

/** Makes the workspace that a first start needs; null when there is one already. Nodes that start together make one. */
export const createFirstWorkspace = (
  database: Database,
  maker: KeyMaker,
  workspace: CreateWorkspace,
  key: string | null,
): Promise<CreatedWorkspace | null> =>
  database.transaction(async (tx) => {
    await lockFirstWorkspace(tx);
    return (await anyWorkspace(tx)) ? null : create(tx, maker, workspace, key ?? undefined);
  });

async function create(tx: Db, maker: KeyMaker, { name, plan = "free" }: CreateWorkspace, key?: string): Promise<CreatedWorkspace> {
  const id = maker.ids.next() as WorkspaceId;
  const stored = await insertWorkspace(tx, id, name, plan, PLANS[plan].limits);
  if (!stored) throw new Error("An insert answered no row.");
  const first = await createKey(tx, maker, id, { name: "First key", role: "admin" }, key);
  const { executions_per_month, requests_per_minute, retention_days } = stored;
  return {
    id: showWorkspaceId(id),
    name,
    plan,
    limits: { executions_per_month, requests_per_minute, retention_days },
    created_at: stored.created_at,
    key: first.key,
  };
}

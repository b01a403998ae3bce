import { type CreatedWorkspace, type CreateWorkspace, PLANS } from "@tidemill/contract";
import type { Database, Db, WorkspaceId } from "#kernel";
import { addKey } from "./create-key.ts";
import { OPERATOR, type Registrar, SYSTEM } from "./registrar.ts";
import { limitsOf, showWorkspaceId } from "./workspace.ts";
import { anyWorkspace, insertWorkspace, lockFirstWorkspace } from "./workspace-store.ts";

/** Makes a workspace with its first key, of role admin. Source: contract §2. */
export const createWorkspace = (database: Database, registrar: Registrar, workspace: CreateWorkspace): Promise<CreatedWorkspace> =>
  database.transaction((tx) => create(tx, registrar, OPERATOR, workspace));

/** Makes the workspace that a first start needs; null when there is one already. Nodes that start together make one. */
export const createFirstWorkspace = (
  database: Database,
  registrar: Registrar,
  workspace: CreateWorkspace,
  key: string | null,
): Promise<CreatedWorkspace | null> =>
  database.transaction(async (tx) => {
    await lockFirstWorkspace(tx);
    return (await anyWorkspace(tx)) ? null : create(tx, registrar, SYSTEM, workspace, key ?? undefined);
  });

async function create(
  tx: Db,
  registrar: Registrar,
  actorId: string,
  { name, plan = "free", limits }: CreateWorkspace,
  key?: string,
): Promise<CreatedWorkspace> {
  const workspaceId = registrar.ids.next() as WorkspaceId;
  const stored = await insertWorkspace(tx, workspaceId, name, plan, { ...PLANS[plan].limits, ...limits });
  if (!stored) throw new Error("An insert answered no row.");
  const shown = { id: showWorkspaceId(workspaceId), name, plan, limits: limitsOf(stored), created_at: stored.created_at };
  await registrar.audit.record(tx, {
    workspaceId,
    eventType: "workspace.created",
    actorId,
    resourceType: "workspace",
    resourceId: shown.id,
    input: { name, plan, limits: shown.limits },
    output: null,
  });
  const first = await addKey(tx, registrar, { workspaceId, actorId }, { name: "First key", role: "admin" }, key);
  return { ...shown, key: first.key };
}

import { type CreatedWorkspace, type CreateWorkspace, PLANS } from "@tidemill/contract";
import type { LockAccess } from "#http";
import type { Database, Db, WorkspaceId } from "#kernel";
import { type AdminContext, OPERATOR, SYSTEM } from "./admin-context.ts";
import { addKey } from "./create-key.ts";
import { limitsOf, showWorkspaceId } from "./workspace.ts";
import { anyWorkspace, insertWorkspace, lockFirstWorkspace } from "./workspace-store.ts";

/**
 * Creates a workspace with its first key, which has the role admin. Source: contract §2.
 *
 * @param hold makes sure that the sender of a request is still allowed to do this. Commands have none
 */
export const createWorkspace = (
  database: Database,
  adminContext: AdminContext,
  workspace: CreateWorkspace,
  actorId = OPERATOR,
  hold?: LockAccess,
): Promise<CreatedWorkspace> =>
  database.transaction(async (tx) => {
    await hold?.(tx);
    return create(tx, adminContext, actorId, workspace);
  });

/** Creates the first workspace. Returns null if any exists. Nodes that start at the same time create only one. */
export const createFirstWorkspace = (
  database: Database,
  adminContext: AdminContext,
  workspace: CreateWorkspace,
  key: string | null,
): Promise<CreatedWorkspace | null> =>
  database.transaction(async (tx) => {
    await lockFirstWorkspace(tx);
    return (await anyWorkspace(tx)) ? null : create(tx, adminContext, SYSTEM, workspace, key ?? undefined);
  });

/** Creates a workspace without a key, within the caller's transaction. */
export async function createWorkspaceFor(
  tx: Db,
  { ids, audit }: Pick<AdminContext, "ids" | "audit">,
  workspace: CreateWorkspace,
  actorId: string,
): Promise<WorkspaceId> {
  return (await insert(tx, { ids, audit }, actorId, workspace)).workspaceId;
}

async function create(
  tx: Db,
  adminContext: AdminContext,
  actorId: string,
  workspace: CreateWorkspace,
  key?: string,
): Promise<CreatedWorkspace> {
  const { workspaceId, shown } = await insert(tx, adminContext, actorId, workspace);
  const first = await addKey(tx, adminContext, { workspaceId, actorId }, { name: "First key", role: "admin" }, key);
  return { ...shown, key: first.key };
}

async function insert(
  tx: Db,
  { ids, audit }: Pick<AdminContext, "ids" | "audit">,
  actorId: string,
  { name, plan = "free", limits }: CreateWorkspace,
) {
  const workspaceId = ids.next() as WorkspaceId;
  const stored = await insertWorkspace(tx, workspaceId, name, plan, { ...PLANS[plan].limits, ...limits });
  if (!stored) throw new Error("An insert returned no row.");
  const shown = { id: showWorkspaceId(workspaceId), name, plan, limits: limitsOf(stored), created_at: stored.created_at };
  await audit.record(tx, {
    workspaceId,
    eventType: "workspace.created",
    actorId,
    resourceType: "workspace",
    resourceId: shown.id,
    input: { name, plan, limits: shown.limits },
    output: null,
  });
  return { workspaceId, shown };
}

import { type Limits, type PatchWorkspace, PLANS, type Workspace } from "@tidemill/contract";
import type { Transactional, WorkspaceId } from "#kernel";
import { type AdminContext, OPERATOR } from "./admin-context.ts";
import { limitsOf, showWorkspace, showWorkspaceId, workspaceNotFound } from "./workspace.ts";
import { lockWorkspace, updateWorkspace } from "./workspace-store.ts";

/**
 * Changes a workspace's name, plan and limits. A request with a plan starts from the limits of that plan, even if the workspace is
 * already on it. A request without a plan starts from the current limits. The limits in the request replace those.
 *
 * @throws NOT_FOUND
 */
export const patchWorkspace = (
  database: Transactional,
  { audit }: Pick<AdminContext, "audit">,
  workspaceId: WorkspaceId,
  request: PatchWorkspace,
  actorId = OPERATOR,
): Promise<Workspace> =>
  database.transaction(async (tx) => {
    const before = await lockWorkspace(tx, workspaceId);
    if (!before) throw workspaceNotFound(workspaceId);
    const { name = before.name, plan = before.plan } = request;
    const limits = { ...(request.plan ? PLANS[request.plan].limits : limitsOf(before)), ...request.limits };
    const limitsChanged = plan !== before.plan || !sameLimits(limits, before);
    const after = await updateWorkspace(tx, workspaceId, { name, plan, limits, limitsChanged });
    if (!after) throw workspaceNotFound(workspaceId);
    await audit.record(tx, {
      workspaceId,
      eventType: "workspace.updated",
      actorId,
      resourceType: "workspace",
      resourceId: showWorkspaceId(workspaceId),
      input: request,
      output: {
        before: { name: before.name, plan: before.plan, limits: limitsOf(before) },
        after: { name, plan, limits: limitsOf(after) },
      },
    });
    return showWorkspace(after);
  });

const sameLimits = (one: Limits, other: Limits): boolean =>
  one.executions_per_month === other.executions_per_month &&
  one.requests_per_minute === other.requests_per_minute &&
  one.retention_days === other.retention_days;

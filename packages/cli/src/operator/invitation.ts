import { findWorkspace, listInvitations, OPERATOR, revokeInvitation, showInvitation, type Uuid, workspaceNotFound } from "@tidemill/server";
import { INVITATION_COLUMNS } from "../output/invitation-columns.ts";
import { type ListOptions, printPages } from "../output/print-pages.ts";
import { printRecord } from "../output/table.ts";
import { readPages } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

/** `tidemill invitation list <workspace>`: lists the invitations to a workspace that can still be accepted, newest first. */
export async function listInvitationsCommand(workspace: string, options: ListOptions): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const read = (before: Uuid | null, limit: number) => listInvitations(api, workspaceId, before, limit);
    await printPages((limit) => readPages(read, limit, showInvitation), INVITATION_COLUMNS, options);
  });
}

/** `tidemill invitation revoke <workspace> <invitation>`: revokes an invitation to a workspace. */
export async function revokeInvitationCommand(workspace: string, id: string, { json }: { json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }, adminContext) => {
    await revokeInvitation(api, adminContext, { workspaceId, actorId: OPERATOR }, id);
    printRecord({ id, revoked: true }, json);
  });
}

import { findWorkspace, listInvitations, OPERATOR, revokeInvitation, showInvitation, type Uuid, workspaceNotFound } from "@tidemill/server";
import { INVITATION_COLUMNS } from "../output/invitation-columns.ts";
import { printJson, printRecord, printTable } from "../output/table.ts";
import { readAllPages } from "./read-all-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

/** `tidemill invitation list <workspace>`: lists the invitations to a workspace that can still be accepted, newest first. */
export async function listInvitationsCommand(workspace: string, { json }: { json?: boolean }): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const found = await readAllPages((before: Uuid | null, limit) => listInvitations(api, workspaceId, before, limit));
    const invitations = found.map(showInvitation);
    if (json) printJson(invitations);
    else printTable(invitations, INVITATION_COLUMNS);
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

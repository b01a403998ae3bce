import {
  CreatedInvitation,
  CreateInvitation,
  Invitation,
  ListInvitations,
  Page,
  WorkspaceInvitationPath,
  WorkspacePath,
} from "@tidemill/contract";
import { type Api, noContent, operatorActorOf, replies } from "#http";
import { existingWorkspace, workspaceIn } from "#workspaces";
import { invite, pageOfInvitations, revokeInvitation } from "./links/invitations.ts";
import type { PeopleContext } from "./people-context.ts";

/** Invitations to any workspace. Operators need not belong to it: its first administrator comes by an invitation. Source: contract §13. */
export function mountOperatorInvitations(api: Api, context: PeopleContext): void {
  api.get(
    "/admin/v1/workspaces/:id/invitations",
    {
      config: { access: "operator" },
      schema: { params: WorkspacePath, querystring: ListInvitations, response: replies({ 200: Page(Invitation) }, "NOT_FOUND") },
    },
    async (request) => {
      const { id } = await existingWorkspace(context.database, workspaceIn(request.params));
      return pageOfInvitations(context.database, id, request.query);
    },
  );

  api.post(
    "/admin/v1/workspaces/:id/invitations",
    {
      config: { access: "operator", confirm: true },
      schema: {
        params: WorkspacePath,
        body: CreateInvitation,
        response: replies({ 201: CreatedInvitation }, "NOT_FOUND", "CONFLICT", "RATE_LIMITED"),
      },
    },
    async (request, reply) => {
      const { id: workspaceId } = await existingWorkspace(context.database, workspaceIn(request.params));
      const actor = { workspaceId, actorId: operatorActorOf(request) };
      return reply.code(201).send(await invite(context.database, context, actor, request.body, api.lockAccess(request)));
    },
  );

  api.delete(
    "/admin/v1/workspaces/:id/invitations/:invitation_id",
    {
      config: { access: "operator", confirm: true },
      schema: {
        params: WorkspaceInvitationPath,
        response: replies({ 204: noContent("The invitation can no longer be accepted.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = { workspaceId: workspaceIn(request.params), actorId: operatorActorOf(request) };
      await revokeInvitation(context.database, context, actor, request.params.invitation_id);
      return reply.code(204).send();
    },
  );
}

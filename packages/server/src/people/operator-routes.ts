import { CreatedInvitation, CreateInvitation, WorkspacePath } from "@tidemill/contract";
import { type Api, operatorActorOf, replies } from "#http";
import { existingWorkspace, workspaceIn } from "#workspaces";
import { invite } from "./invitations.ts";
import type { PeopleContext } from "./people-context.ts";

/** Invitations that operators make, who need not belong to the workspace: its first administrator comes by one. Source: contract §13. */
export function mountOperatorInvitations(api: Api, context: PeopleContext): void {
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
      return reply.code(201).send(await invite(context.database, context, actor, request.body, api.holdAccess(request)));
    },
  );
}

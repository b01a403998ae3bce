import { CreateInvitation } from "@tidemill/contract";
import type { Command } from "commander";
import { INVITATION_COLUMNS } from "../output/invitation-columns.ts";
import type { ListOptions } from "../output/print-pages.ts";
import { printFields, printRecord } from "../output/table.ts";
import { onService, runOnService, withConnection } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { workspaceAndId } from "./workspace-and-id.ts";

/** Operators list and revoke the invitations to any workspace, in the database. For that, the workspace is the first argument. */
export function addInvitationCommands(program: Command): void {
  const invitation = program.command("invitation").description("Invitations of people to the workspace");
  const load = () => import("../operator/invitation.ts");

  const list = withConnection(
    withLimit(
      invitation
        .command("list")
        .description("List invitations that can still be accepted, newest first")
        .argument("[workspace]", "For operators: id of the workspace, ws_…, to read its invitations from the database"),
    ),
  );
  list.action(async (workspace: string | undefined, options: ListOptions) => {
    if (workspace !== undefined) return (await load()).listInvitationsCommand(workspace, options);
    await runOnService<ListOptions>(list, (tidemill, invocation) =>
      printList((limit) => tidemill.invitations.list({ limit }), INVITATION_COLUMNS, invocation.options),
    );
  });

  onService(
    addFields(
      invitation.command("create").description("Invite a person. The URL that accepts the invitation is only shown this once"),
      CreateInvitation,
    ),
    async (tidemill, { options }) =>
      printFields(await tidemill.invitations.create(readFields<CreateInvitation>(CreateInvitation, options)), options.json),
  );

  const revoke = withConnection(
    invitation
      .command("revoke")
      .description("Revoke an invitation. It can no longer be accepted")
      .argument("<invitation...>", "Id of the invitation, inv_…. For operators: workspace and invitation")
      .usage("[options] [workspace] <invitation>"),
  );
  revoke.action(async (named: string[], options: { json?: boolean }) => {
    const { workspace, id } = workspaceAndId(named, "an invitation, inv_…");
    if (workspace !== undefined) return (await load()).revokeInvitationCommand(workspace, id, options);
    await runOnService(revoke, async (tidemill) => {
      await tidemill.invitations.revoke(id);
      printRecord({ id, revoked: true }, options.json);
    });
  });
}

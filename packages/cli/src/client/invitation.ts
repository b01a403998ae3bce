import { CreateInvitation } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const COLUMNS = ["id", "role", "email", "created_by", "created_at", "expires_at"];

export function addInvitationCommands(program: Command): void {
  const invitation = program.command("invitation").description("Invitations of people to the workspace");

  onService<{ limit: number }>(
    withLimit(invitation.command("list").description("List invitations that can still be accepted, newest first")),
    (tidemill, { options }) => printList((limit) => tidemill.invitations.list({ limit }), COLUMNS, options),
  );

  onService(
    addFields(
      invitation.command("create").description("Invite a person. The URL that accepts the invitation is only shown this once"),
      CreateInvitation,
    ),
    async (tidemill, { options }) =>
      printFields(await tidemill.invitations.create(readFields<CreateInvitation>(CreateInvitation, options)), options.json),
  );

  onService(
    invitation
      .command("revoke")
      .description("Revoke an invitation. It can no longer be accepted")
      .argument("<invitation>", "Id of the invitation, inv_…"),
    async (tidemill, { args: [id = ""], options }) => {
      await tidemill.invitations.revoke(id);
      printRecord({ id, revoked: true }, options.json);
    },
  );
}

import { PatchMember } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const PERSON = ["<person>", "Id of the person, usr_…"] as const;
const COLUMNS = ["id", "name", "email", "role", "created_at"];

/** Members of the key's workspace. Keys cannot add people, only invite them. Operators manage all people of a service with `people`. */
export function addMemberCommands(program: Command): void {
  const member = program.command("member").description("People who belong to the workspace");

  onService<{ limit: number }>(
    withLimit(member.command("list").description("List members, those with the newest accounts first")),
    (tidemill, { options }) => printList((limit) => tidemill.members.list({ limit }), COLUMNS, options),
  );

  onService(
    addFields(
      member
        .command("update")
        .description("Change the role of a member, with immediate effect")
        .argument(...PERSON),
      PatchMember,
    ),
    async (tidemill, { args: [id = ""], options }) =>
      printFields(await tidemill.members.update(id, readFields<PatchMember>(PatchMember, options)), options.json),
  );

  onService<{ yes?: boolean }>(
    member
      .command("remove")
      .description("Remove a person from the workspace, with immediate effect. The last admin cannot be removed")
      .argument(...PERSON)
      .option(...YES),
    async (tidemill, { args: [id = ""], options }) => {
      await askFirst(`Remove ${id} from the workspace?`, options);
      await tidemill.members.remove(id);
      printRecord({ id, removed: true }, options.json);
    },
  );
}

import { CreateSecret, PatchSecret, SECRET_NAME } from "@tidemill/contract";
import type { Command } from "commander";
import { printFields, printRecord } from "../output/table.ts";
import { askFirst, YES } from "../prompt/ask-first.ts";
import { readHidden } from "../prompt/read-hidden.ts";
import { onService } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";

const NAME = ["<secret>", "Name of the secret"] as const;
const COLUMNS = ["name", "value_hint", "allowed_queues", "allowed_hosts", "updated_at"];
const OWN = ["name", "value"];

/** Checks the name before asking for the value. @throws for a name that no secret can have */
function checkName(name: string): void {
  if (!new RegExp(SECRET_NAME).test(name))
    throw new Error(`"${name}" cannot be the name of a secret. It has capital letters, digits and underscores, and begins with a letter.`);
}

export function addSecretCommands(program: Command): void {
  const secret = program.command("secret").description("Secrets, whose values replace templates when a job is delivered");

  onService<{ limit: number }>(
    withLimit(secret.command("list").description("List secrets, without their values")),
    (tidemill, { options }) => printList((limit) => tidemill.secrets.list({ limit }), COLUMNS, options),
  );

  onService(
    addFields(
      secret
        .command("create")
        .description("Store a secret. Its value is asked for, or read from the standard input")
        .argument(...NAME),
      CreateSecret,
      OWN,
    ),
    async (tidemill, { args: [name = ""], options }) => {
      checkName(name);
      const value = await readHidden("Value of the secret:");
      printFields(await tidemill.secrets.create({ ...readFields<CreateSecret>(CreateSecret, options, OWN), name, value }), options.json);
    },
  );

  onService<{ value?: boolean }>(
    addFields(
      secret
        .command("update")
        .description("Change the value of a secret, or where it may be used")
        .argument(...NAME)
        .option("--value", "Ask for a new value, or read it from the standard input"),
      PatchSecret,
      OWN,
    ),
    async (tidemill, { args: [name = ""], options }) => {
      const changes = readFields<PatchSecret>(PatchSecret, options, OWN);
      checkName(name);
      const value = options.value ? { value: await readHidden("New value of the secret:") } : {};
      printFields(await tidemill.secrets.update(name, { ...changes, ...value }), options.json);
    },
  );

  onService<{ yes?: boolean }>(
    secret
      .command("delete")
      .description("Delete a secret. Jobs that use it fail from now on")
      .argument(...NAME)
      .option(...YES),
    async (tidemill, { args: [name = ""], options }) => {
      await askFirst(`Delete the secret ${name}?`, options);
      await tidemill.secrets.delete(name);
      printRecord({ secret: name, deleted: true }, options.json);
    },
  );
}

import { CreateKey } from "@tidemill/contract";
import type { Command } from "commander";
import { KEY_COLUMNS } from "../output/key-columns.ts";
import type { ListOptions } from "../output/print-pages.ts";
import { printFields, printRecord } from "../output/table.ts";
import { runOnService, withConnection } from "./command.ts";
import { addFields, readFields } from "./fields.ts";
import { printList, withLimit } from "./listing.ts";
import { workspaceAndId } from "./workspace-and-id.ts";

const WORKSPACE = ["[workspace]", "For operators: id of the workspace, ws_…, to use its keys in the database"] as const;
const OWN = ["name"];

type Create = Pick<CreateKey, "name"> & { readonly json?: boolean };

/** Operators manage the keys of any workspace, in the database. For that, the workspace is the first argument. */
export function addKeyCommands(program: Command): void {
  const key = program.command("key").description("API keys of the workspace");
  const load = () => import("../operator/key.ts");

  const list = withConnection(
    withLimit(
      key
        .command("list")
        .description("List keys, newest first")
        .argument(...WORKSPACE),
    ),
  );
  list.action(async (workspace: string | undefined, options: ListOptions) => {
    if (workspace !== undefined) return (await load()).listKeysCommand(workspace, options);
    await runOnService<ListOptions>(list, (tidemill, invocation) =>
      printList((limit) => tidemill.keys.list({ limit }), KEY_COLUMNS, invocation.options),
    );
  });

  const create = withConnection(
    addFields(
      key
        .command("create")
        .description("Create a key, which is only shown this once. Default role: write")
        .argument(...WORKSPACE)
        .requiredOption("--name <name>", "What the key is for, 1 to 128 characters (required)"),
      CreateKey,
      OWN,
    ),
  );
  create.action(async (workspace: string | undefined, options: Create) => {
    const body = { ...readFields<Omit<CreateKey, "name">>(CreateKey, options, OWN), name: options.name };
    if (workspace !== undefined) return (await load()).createKeyCommand(workspace, body, options);
    await runOnService(create, async (tidemill) => printFields(await tidemill.keys.create(body), options.json));
  });

  const revoke = withConnection(
    key
      .command("revoke")
      .description("Revoke a key. Requests with it are refused from now on")
      .argument("<key...>", "Id of the key, key_…. For operators: workspace and key")
      .usage("[options] [workspace] <key>"),
  );
  revoke.action(async (named: string[], options: { json?: boolean }) => {
    const { workspace, id } = workspaceAndId(named, "a key, key_…");
    if (workspace !== undefined) return (await load()).revokeKeyCommand(workspace, id, options);
    await runOnService(revoke, async (tidemill) => {
      await tidemill.keys.revoke(id);
      printRecord({ id, revoked: true }, options.json);
    });
  });
}

import { setTimeout as sleep } from "node:timers/promises";
import {
  countByKeyAcrossWorkspaces,
  countNodesWithout,
  findVaultKey,
  Keyring,
  type Rotation,
  rotateMasterKey,
  systemRandom,
} from "@tidemill/server";
import { printJson, printTable } from "./table.ts";
import { tellNodes } from "./tell-nodes.ts";
import { withDatabase } from "./with-database.ts";

/** `tidemill vault status`: the master keys that secrets are wrapped by, and which of them are given here. */
export const showVaultCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async ({ api }, _adminContext, config) => {
    const keyring = await Keyring.open(config);
    const current = await findVaultKey(api);
    const counts = new Map((await countByKeyAcrossWorkspaces(api)).map(({ master_key_id, secrets }) => [master_key_id, secrets]));
    const ids = [...new Set([...(current === null ? [] : [current]), ...counts.keys(), ...keyring.ids])];
    const keys = ids.map((id) => ({ master_key: id, current: id === current, given: keyring.has(id), secrets: counts.get(id) ?? 0 }));
    if (json) printJson({ file: keyring.file, keys });
    else printTable(keys, ["master_key", "current", "given", "secrets"]);
  });

/** `tidemill vault rotate-master-key`: beside running nodes, which go on delivering. It ends with exit code 1 when a secret did not open. */
export const rotateMasterKeyCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async (databases, _adminContext, config) => {
    const keyring = await Keyring.open(config);
    const rotation = await rotateMasterKey({
      connection: databases.connection,
      database: databases.engine,
      keyring,
      random: systemRandom,
      countNodesWithout,
      notifyNodes: () => tellNodes(databases, { kind: "vault" }),
      sleep,
    });
    if (json) printJson(rotation);
    else process.stdout.write(`${sentences(rotation).join("\n")}\n`);
    for (const { workspace, name } of rotation.unreadable)
      process.stderr.write(`tidemill: The secret ${name} of ${workspace} does not open. Give it a new value, or delete it.\n`);
    if (rotation.unreadable.length > 0) process.exitCode = 1;
  });

function sentences({ from, to, rewrapped, unreadable, kept }: Rotation): string[] {
  const done = `The vault is locked with the master key ${to}. Secrets wrapped anew: ${rewrapped}.`;
  if (unreadable.length > 0)
    return [
      done,
      `${unreadable.length} were not: keep the key ${from} where it is, and run this again when they are mended. No other rotation begins before.`,
    ];
  const old = kept === null ? `Take the old key, ${from}, out of TIDEMILL_MASTER_KEY.` : `The old key, ${from}, is now in ${kept}.`;
  return [done, old, "Backups of the database from before need the old key."];
}

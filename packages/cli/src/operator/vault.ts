import { setTimeout as sleep } from "node:timers/promises";
import {
  countByKeyAcrossWorkspaces,
  countNodes,
  countNodesWithout,
  findVaultKey,
  giveUpKey,
  Keyring,
  type Rotation,
  rotateMasterKey,
  systemRandom,
} from "@tidemill/server";
import { printJson, printTable } from "../output/table.ts";
import { notifyNodes } from "./notify-nodes.ts";
import { withDatabase, withOlderDatabase } from "./with-database.ts";

/** `tidemill vault status`: lists the master keys that wrap secrets, and which of them this configuration has. */
export const showVaultCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withOlderDatabase(async ({ api }, _adminContext, config) => {
    const keyring = await Keyring.open(config);
    const current = await findVaultKey(api);
    const counts = new Map((await countByKeyAcrossWorkspaces(api)).map(({ master_key_id, secrets }) => [master_key_id, secrets]));
    const ids = [...new Set([...(current === null ? [] : [current]), ...counts.keys(), ...keyring.ids])];
    const keys = ids.map((id) => ({ master_key: id, current: id === current, given: keyring.has(id), secrets: counts.get(id) ?? 0 }));
    if (json) printJson({ file: keyring.file, keys });
    else printTable(keys, ["master_key", "current", "given", "secrets"]);
  });

/**
 * `tidemill vault rotate-master-key`: rewraps all secrets with another master key while nodes keep delivering. The exit code is 1 when a
 * secret could not be decrypted.
 */
export const rotateMasterKeyCommand = ({ json }: { json?: boolean }): Promise<void> =>
  withDatabase(async (databases, _adminContext, config) => {
    const keyring = await Keyring.open(config);
    const rotation = await rotateMasterKey({
      connection: databases.connection,
      database: databases.engine,
      keyring,
      random: systemRandom,
      countNodesWithout,
      notifyNodes: () => notifyNodes(databases, { kind: "masterKeyChanged" }),
      sleep,
    });
    if (json) printJson(rotation);
    else process.stdout.write(`${sentences(rotation).join("\n")}\n`);
    for (const { workspace, name } of rotation.unreadable)
      process.stderr.write(
        `tidemill: The secret ${name} of ${workspace} cannot be decrypted. Give it a new value and its limits again, or delete it.\n`,
      );
    if (rotation.unreadable.length > 0) process.exitCode = 1;
  });

/** `tidemill vault give-up <master key>`: lets nodes start again without a master key that is lost. */
export const giveUpKeyCommand = (lost: string, { json }: { json?: boolean }): Promise<void> =>
  withOlderDatabase(async ({ connection, engine: database }, _adminContext, config) => {
    const keyring = await Keyring.open(config);
    const givenUp = await giveUpKey({ connection, database, keyring, random: systemRandom, countNodes }, lost);
    if (json) return printJson(givenUp);
    const { to, unreadable } = givenUp;
    process.stdout.write(
      `The master key ${lost} is given up. The vault's key is now ${to}. Secrets that cannot be decrypted: ${unreadable.length}.\n`,
    );
    for (const { workspace, name } of unreadable) process.stdout.write(`${workspace} ${name}: give it a new value and its limits again\n`);
  });

function sentences({ from, to, rewrapped, unreadable, kept }: Rotation): string[] {
  const done = `The master key of the vault is now ${to}. Secrets rewrapped: ${rewrapped}.`;
  if (unreadable.length > 0)
    return [
      done,
      `Secrets not rewrapped: ${unreadable.length}. Keep the key ${from} where it is, fix these secrets, and run this command again. ` +
        "The next rotation can only begin after that.",
    ];
  const old = kept === null ? `Remove the old key, ${from}, from TIDEMILL_MASTER_KEY.` : `The old key, ${from}, is now in ${kept}.`;
  return [done, old, "Backups of the database from before the rotation need the old key."];
}

import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { syncPath } from "../../files.ts";
import { doneUnless, unless } from "../../system-error.ts";
import type { Binaries } from "./binaries.ts";
import { ensureDirectory } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";
import type { Place } from "./place.ts";
import { runProgram } from "./run.ts";
import { NAME } from "./session.ts";

const INITDB = [
  `--username=${NAME}`,
  "--encoding=UTF8",
  // Sort by bytes, so that an upgrade of the system's locales cannot corrupt an index. Upper and lower case by Unicode.
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  // Everyone who can enter the socket's directory may connect. Its mode keeps other users out.
  "--auth-local=trust",
  "--auth-host=reject",
  // Disks of small machines are the most likely to corrupt data, and checksums cost only one or two percent.
  "--data-checksums",
  "--no-instructions",
];

/**
 * Whether a cluster exists that these binaries can serve.
 *
 * @throws {EmbeddedPostgresError} DATA_OF_ANOTHER_VERSION, DATA_NOT_OURS
 */
export async function hasCluster({ cluster, account }: Place, { major }: Binaries): Promise<boolean> {
  const found = await unless("ENOENT", null, stat(cluster));
  if (found === null) return false;
  const notOurs = (what: string) => new EmbeddedPostgresError("DATA_NOT_OURS", `${cluster} ${what}. Move it to another place.`);
  if (!account && found.uid !== process.geteuid?.()) throw notOurs(`belongs to another user (uid ${found.uid})`);
  const version = await unless("ENOENT", null, readFile(join(cluster, "PG_VERSION"), "utf8"));
  if (version === null) {
    if ((await readdir(cluster)).length === 0) return false;
    throw notOurs("contains files that are not PostgreSQL's");
  }
  if (version.trim() === major) return true;
  throw new EmbeddedPostgresError(
    "DATA_OF_ANOTHER_VERSION",
    `${cluster} was created by PostgreSQL ${version.trim()}, but this Tidemill contains ${major}. Dump it with the old version and restore the dump.`,
  );
}

/** Creates the cluster atomically: initdb makes it durable under another name, then it is renamed. */
export async function initialise(place: Place, binaries: Binaries): Promise<void> {
  const { cluster, account, home } = place;
  await removeDrafts(place);
  const draft = `${cluster}.${randomUUID()}`;
  await ensureDirectory(draft, account, 0o700);
  await runProgram(binaries.initdb, [...INITDB, "-D", draft], account);
  await rename(draft, cluster);
  await syncPath(home);
}

/** Removes what an interrupted initdb left. Its content is removed as the account, because root could follow a link out of it. */
async function removeDrafts({ home, account }: Place): Promise<void> {
  const drafts = (await readdir(home)).filter((name) => /^postgres\.[0-9a-f-]{36}$/.test(name));
  for (const draft of drafts.map((name) => join(home, name))) {
    if (await doneUnless("ENOTEMPTY", rmdir(draft))) continue;
    await runProgram("/bin/sh", ["-c", 'cd "$1" && rm -rf ./* ./.[!.]*', "sh", draft], account);
    // An initdb that outlived its node may still write. It fails without its files, and the next start removes the rest.
    await doneUnless("ENOTEMPTY", rmdir(draft));
  }
}

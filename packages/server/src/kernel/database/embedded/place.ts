import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../files.ts";
import { isRefusal, unless } from "../../system-error.ts";
import { type Account, chooseUnprivileged, readAccounts } from "./account.ts";
import { ensureDirectory, isRoot, isRootsAlone, whatBars } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { SOCKET_NAME } from "./session.ts";

/** Where the PostgreSQL of one data directory keeps what it needs. */
export interface Place {
  /** Holds the cluster: the data directory itself, unless the account cannot reach that. */
  readonly home: string;
  readonly cluster: string;
  /** Directory of the socket. Its mode is what keeps other users out. */
  readonly sockets: string;
  /** Whom PostgreSQL runs as; null: as the user we are. */
  readonly account: Account | null;
}

/** What the file `postgres.json` of a data directory says. */
interface Whereabouts {
  /** Where the cluster lies when it is not in the data directory. */
  readonly elsewhere: string | null;
  readonly sockets: string | null;
}

const RECORD = "postgres.json";
/** Root's own room, for data and binaries that lie where no other account gets to. */
const ROOTS_ROOM = "/var/lib/tidemill";
/** What `sockaddr_un` holds, less the final zero. Bytes. */
const LONGEST_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;

/**
 * Decides where the cluster of `dataDir` (a real path) lives, and makes the directories around it. The answer is the same at
 * every start: a cluster that exists stays where it is, with the account that owns it.
 *
 * @throws {EmbeddedPostgresError} DATA_DIR_UNREACHABLE, NO_UNPRIVILEGED_USER, UNSAFE_DIRECTORY, DATA_NOT_OURS
 */
export async function choosePlace(dataDir: string): Promise<Place> {
  const { elsewhere } = await readRecord(dataDir);
  const { home, account } = isRoot() ? await chooseForRoot(dataDir, elsewhere) : chooseForUser(dataDir, elsewhere);
  const place = { home, cluster: join(home, "postgres"), sockets: await socketsFor(dataDir, home, account), account };
  await ensureDirectory(place.sockets, account, 0o700);
  return place;
}

/** Leaves word in the data directory where its data and its socket are; only once there are data, which must not be missed. */
export async function recordPlace(dataDir: string, { home, sockets }: Place): Promise<void> {
  const record: Whereabouts = { elsewhere: home === dataDir ? null : home, sockets };
  const before = await readRecord(dataDir);
  if (before.elsewhere === record.elsewhere && before.sockets === record.sockets) return;
  await replaceFile(join(dataDir, RECORD), `${JSON.stringify(record, null, 2)}\n`);
}

/** Root's room, made when missing; null where root cannot make one that is its alone. */
export async function openRootsRoom(): Promise<string | null> {
  try {
    await mkdir("/var/lib", { recursive: true });
    await ensureDirectory(ROOTS_ROOM, null, 0o711);
    return (await isRootsAlone(ROOTS_ROOM)) ? ROOTS_ROOM : null;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function chooseForUser(dataDir: string, elsewhere: string | null): { home: string; account: null } {
  if (elsewhere === null) return { home: dataDir, account: null };
  throw unreachable(`The data of ${dataDir} are in ${elsewhere}, where a start as root put them. Start Tidemill as root`);
}

async function chooseForRoot(dataDir: string, elsewhere: string | null): Promise<{ home: string; account: Account }> {
  const accounts = await readAccounts();
  const usual = elsewhere ?? dataDir;
  const owner = await ownerOf(usual, accounts);
  if (elsewhere !== null && !owner) {
    throw unreachable(`The data of ${dataDir} were in ${elsewhere} and are gone. To begin anew remove ${join(dataDir, RECORD)}`);
  }
  const account = owner ?? chooseUnprivileged(accounts);
  const bar = await whatBars(account, usual);
  if (bar === null) return { home: usual, account };
  const own = owner ? null : await openOwnRoom(dataDir);
  if (own) return { home: own, account: (await ownerOf(own, accounts)) ?? account };
  throw unreachable(
    `PostgreSQL runs as user ${account.name}, not as root, and ${account.name} cannot enter ${bar}. ` +
      "Name a data directory elsewhere in TIDEMILL_DATA_DIR",
  );
}

const unreachable = (what: string): EmbeddedPostgresError => new EmbeddedPostgresError("DATA_DIR_UNREACHABLE", `${what}.`);

/** Whose the cluster in `home` is; null when there is none. */
async function ownerOf(home: string, accounts: readonly Account[]): Promise<Account | null> {
  const cluster = join(home, "postgres");
  const found = await unless("ENOENT", null, stat(cluster));
  if (found === null) return null;
  const { uid, gid } = found;
  if (uid !== 0) return accounts.find((account) => account.uid === uid) ?? { name: String(uid), uid, gid };
  throw new EmbeddedPostgresError("DATA_NOT_OURS", `${cluster} belongs to root, as whom PostgreSQL does not run. Move it away.`);
}

async function openOwnRoom(dataDir: string): Promise<string | null> {
  const room = await openRootsRoom();
  if (room === null) return null;
  const own = join(room, digest(dataDir));
  await ensureDirectory(own, null, 0o711);
  return own;
}

async function socketsFor(dataDir: string, home: string, account: Account | null): Promise<string> {
  const inside = join(home, "run");
  if (Buffer.byteLength(join(inside, SOCKET_NAME)) <= LONGEST_SOCKET_PATH) return inside;
  const own = account && (await openOwnRoom(dataDir));
  return own ? join(own, "run") : `/tmp/tidemill-${account?.uid ?? process.geteuid?.()}-${digest(dataDir)}`;
}

const digest = (dataDir: string): string => createHash("sha256").update(dataDir).digest("hex").slice(0, 16);

async function readRecord(dataDir: string): Promise<Whereabouts> {
  const text = await unless("ENOENT", "", readFile(join(dataDir, RECORD), "utf8"));
  try {
    return JSON.parse(text) as Whereabouts;
  } catch {
    // Absent, or spoilt by a loss of power: then the data are where a start without a record looks for them.
    return { elsewhere: null, sockets: null };
  }
}

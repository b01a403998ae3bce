import { createHash } from "node:crypto";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../files.ts";
import { isRefusal, unless } from "../../system-error.ts";
import { type Account, chooseUnprivileged, readAccounts } from "./account.ts";
import { ensureDirectory, findBarrier, isRoot, isRootOnly } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { SOCKET_NAME } from "./session.ts";

/** Where the PostgreSQL of a data directory keeps its files. */
export interface Place {
  /** The parent of the cluster: the data directory itself, unless the account cannot reach it. */
  readonly home: string;
  readonly cluster: string;
  /** Directory of the socket. Its mode keeps other users out. */
  readonly sockets: string;
  /** The account as which PostgreSQL runs. Null means the current user. */
  readonly account: Account | null;
}

/** The content of the file `postgres.json` of a data directory. */
interface PlaceRecord {
  /** The parent of the cluster if it is not the data directory. */
  readonly elsewhere: string | null;
  readonly sockets: string | null;
}

const RECORD = "postgres.json";
/** Root's directory for data and binaries, used if other accounts cannot reach their usual place. */
const ROOT_DIRECTORY = "/var/lib/tidemill";
/** The size of the path in `sockaddr_un`, without the final zero. Bytes. */
const MAX_SOCKET_PATH_BYTES = process.platform === "darwin" ? 103 : 107;

/**
 * Decides where the cluster of `dataDir` (a real path) is, and creates the directories around it. The result is the same at every
 * start: an existing cluster keeps its place and its owner.
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

/** Records in the data directory where the cluster and the socket are. Called when the cluster exists, so that later starts find it. */
export async function recordPlace(dataDir: string, { home, sockets }: Place): Promise<void> {
  const record: PlaceRecord = { elsewhere: home === dataDir ? null : home, sockets };
  const before = await readRecord(dataDir);
  if (before.elsewhere === record.elsewhere && before.sockets === record.sockets) return;
  await replaceFile(join(dataDir, RECORD), `${JSON.stringify(record, null, 2)}\n`);
}

/** Returns root's directory, and creates it if it is missing. Null if it cannot be created, or if others could replace it. */
export async function openRootDirectory(): Promise<string | null> {
  try {
    await mkdir("/var/lib", { recursive: true });
    await ensureDirectory(ROOT_DIRECTORY, null, 0o711);
    return (await isRootOnly(ROOT_DIRECTORY)) ? ROOT_DIRECTORY : null;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function chooseForUser(dataDir: string, elsewhere: string | null): { home: string; account: null } {
  if (elsewhere === null) return { home: dataDir, account: null };
  throw unreachable(`The data of ${dataDir} are in ${elsewhere}, because Tidemill was started as root before. Start Tidemill as root`);
}

async function chooseForRoot(dataDir: string, elsewhere: string | null): Promise<{ home: string; account: Account }> {
  const accounts = await readAccounts();
  const usual = elsewhere ?? dataDir;
  const owner = await ownerOf(usual, accounts);
  if (elsewhere !== null && !owner) {
    throw unreachable(
      `The data of ${dataDir} were in ${elsewhere}, but do not exist any more. To start without them, remove ${join(dataDir, RECORD)}`,
    );
  }
  const account = owner ?? chooseUnprivileged(accounts);
  const bar = await findBarrier(account, usual);
  if (bar === null) return { home: usual, account };
  const own = owner ? null : await openPrivateDirectory(dataDir);
  if (own) return { home: own, account: (await ownerOf(own, accounts)) ?? account };
  throw unreachable(
    `PostgreSQL runs as user ${account.name}, not as root, and ${account.name} cannot enter ${bar}. ` +
      "Set TIDEMILL_DATA_DIR to a directory in another place",
  );
}

const unreachable = (what: string): EmbeddedPostgresError => new EmbeddedPostgresError("DATA_DIR_UNREACHABLE", `${what}.`);

/** The owner of the cluster in `home`, or null when there is no cluster. */
async function ownerOf(home: string, accounts: readonly Account[]): Promise<Account | null> {
  const cluster = join(home, "postgres");
  const found = await unless("ENOENT", null, stat(cluster));
  if (found === null) return null;
  const { uid, gid } = found;
  if (uid !== 0) return accounts.find((account) => account.uid === uid) ?? { name: String(uid), uid, gid };
  throw new EmbeddedPostgresError(
    "DATA_NOT_OURS",
    `${cluster} belongs to root, but PostgreSQL cannot run as root. Move it to another place.`,
  );
}

async function openPrivateDirectory(dataDir: string): Promise<string | null> {
  const root = await openRootDirectory();
  if (root === null) return null;
  const own = join(root, digest(dataDir));
  await ensureDirectory(own, null, 0o711);
  return own;
}

async function socketsFor(dataDir: string, home: string, account: Account | null): Promise<string> {
  const inside = join(home, "run");
  if (Buffer.byteLength(join(inside, SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES) return inside;
  const own = account && (await openPrivateDirectory(dataDir));
  return own ? join(own, "run") : `/tmp/tidemill-${account?.uid ?? process.geteuid?.()}-${digest(dataDir)}`;
}

const digest = (dataDir: string): string => createHash("sha256").update(dataDir).digest("hex").slice(0, 16);

async function readRecord(dataDir: string): Promise<PlaceRecord> {
  const text = await unless("ENOENT", "", readFile(join(dataDir, RECORD), "utf8"));
  try {
    return JSON.parse(text) as PlaceRecord;
  } catch {
    // Missing, or damaged by a power loss. Then the data are in the usual place.
    return { elsewhere: null, sockets: null };
  }
}

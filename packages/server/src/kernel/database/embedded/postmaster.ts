import { constants } from "node:fs";
import { type FileHandle, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unless } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { identify, isAlive, isPostmasterOf, type ProcessIdentity } from "./process.ts";
import { answersAt, SOCKET_NAME } from "./session.ts";

/** A running server: its main process and the directory of its socket. */
export interface Server extends ProcessIdentity {
  readonly sockets: string;
}

const LOOK_EVERY_MS = 5;
/** Recovery after a crash reads at most the WAL of one checkpoint's distance; slow disks take minutes for that. */
const MOST_RECOVERY_MS = 600_000;
const EMPTY_FOR_MS = 100;

/** What `postmaster.pid` of a cluster says; null when there is none, or one that is only half written. */
export async function readPostmasterFile(cluster: string): Promise<{ pid: number; sockets: string; status: string } | null> {
  const text = await unless("ENOENT", null, readFile(join(cluster, "postmaster.pid"), "utf8"));
  const [pid = "", , , , sockets = "", , , status = ""] = text?.split("\n") ?? [];
  return /^\d+$/.test(pid) ? { pid: Number(pid), sockets, status: status.trim() } : null;
}

/**
 * The main process of the server that runs on a cluster, verified to be one; null when none does.
 *
 * @throws {EmbeddedPostgresError} IN_USE_ELSEWHERE when one answers whose process cannot be seen from here
 */
export async function findServer(cluster: string): Promise<ProcessIdentity | null> {
  const file = await readPostmasterFile(cluster);
  if (!file) return null;
  if (await isPostmasterOf(file.pid, cluster)) return await identify(file.pid);
  if (file.sockets === "" || !(await answersAt(file.sockets))) return null;
  throw new EmbeddedPostgresError(
    "IN_USE_ELSEWHERE",
    `A PostgreSQL in another container uses ${cluster}. Stop that one, or name another data directory in TIDEMILL_DATA_DIR.`,
  );
}

/**
 * Waits until a server takes connections.
 *
 * @returns null when it ended instead
 * @throws {EmbeddedPostgresError} START_FAILED when it is not ready after ten minutes, or `signal` aborts
 */
export async function whenReady(cluster: string, identity: ProcessIdentity, signal?: AbortSignal): Promise<Server | null> {
  const sinceMs = performance.now();
  while (await isAlive(identity)) {
    const file = await readPostmasterFile(cluster);
    if (file?.pid === identity.pid && file.status === "ready") return { ...identity, sockets: file.sockets };
    if (signal?.aborted || performance.now() - sinceMs > MOST_RECOVERY_MS) {
      throw new EmbeddedPostgresError("START_FAILED", `PostgreSQL (process ${identity.pid}) is not ready yet.`);
    }
    await sleep(LOOK_EVERY_MS);
  }
  return null;
}

/**
 * Clears the way for a start after a crash. The lock files of the dead server name a pid that meanwhile another process may
 * have (PostgreSQL would take the server for alive), a zombie, or, in a container that was restarted, the new server itself
 * (we would take the old file for its word that it is ready).
 *
 * `postmaster.pid` must stay: it also names the shared memory by which PostgreSQL notices backends of the dead server that
 * still write. It gets our pid instead, for a file with the pid of its parent PostgreSQL takes for stale.
 *
 * @returns whether the last server crashed
 */
export async function disownDeadServer(cluster: string, sockets: string): Promise<boolean> {
  const path = join(cluster, "postmaster.pid");
  // As root, never through a link that the account put there; and in place, for the file must stay the account's.
  const handle = await unless("ENOENT", null, open(path, constants.O_RDWR | constants.O_NOFOLLOW));
  try {
    if (handle && !(await putOwnPid(handle, cluster))) return true;
    await rm(join(sockets, `${SOCKET_NAME}.lock`), { force: true });
    return handle !== null;
  } finally {
    await handle?.close();
  }
}

/**
 * False when the file is a living server's: a node that died may have started one that only now gets to writing it. Such a
 * server replaces a stale file by its own, so what is written here reaches no other file than the one that was read.
 */
async function putOwnPid(file: FileHandle, cluster: string): Promise<boolean> {
  let text = await file.readFile("utf8");
  if (text === "") {
    // Just made and about to be written, or left empty by a loss of power.
    await sleep(EMPTY_FOR_MS);
    text = await file.readFile("utf8");
  }
  const [pid, ...rest] = text.split("\n");
  if (await isPostmasterOf(Number(pid), cluster)) return false;
  if ((await file.stat()).nlink !== 1) return true;
  const stale = [process.pid, ...rest].join("\n");
  await file.write(stale, 0);
  await file.truncate(Buffer.byteLength(stale));
  return true;
}

import { constants } from "node:fs";
import { type FileHandle, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unless } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { identify, isAlive, isPostmasterOf, type ProcessIdentity } from "./process.ts";
import { isListening, SOCKET_NAME } from "./session.ts";

/** A running server: its main process and the directory of its socket. */
export interface Server extends ProcessIdentity {
  readonly sockets: string;
}

const CHECK_EVERY_MS = 5;
/** Recovery after a crash reads at most the WAL between two checkpoints. On slow disks this takes minutes. */
const MAX_RECOVERY_MS = 600_000;
const EMPTY_FOR_MS = 100;

/** Reads `postmaster.pid` of a cluster. Null when it is missing or only partly written. */
export async function readPostmasterFile(cluster: string): Promise<{ pid: number; sockets: string; status: string } | null> {
  const text = await unless("ENOENT", null, readFile(join(cluster, "postmaster.pid"), "utf8"));
  const [pid = "", , , , sockets = "", , , status = ""] = text?.split("\n") ?? [];
  return /^\d+$/.test(pid) ? { pid: Number(pid), sockets, status: status.trim() } : null;
}

/**
 * Finds the main process of the server that runs on a cluster, and verifies that it is one. Null when no server runs.
 *
 * @throws {EmbeddedPostgresError} IN_USE_ELSEWHERE when a server listens whose process is not visible from here
 */
export async function findServer(cluster: string): Promise<ProcessIdentity | null> {
  const file = await readPostmasterFile(cluster);
  if (!file) return null;
  if (await isPostmasterOf(file.pid, cluster)) return await identify(file.pid);
  if (file.sockets === "" || !(await isListening(file.sockets))) return null;
  throw new EmbeddedPostgresError(
    "IN_USE_ELSEWHERE",
    `A PostgreSQL in another container uses ${cluster}. Stop it, or set TIDEMILL_DATA_DIR to another directory.`,
  );
}

/**
 * Waits until a server accepts connections.
 *
 * @returns null when the server ended instead
 * @throws {EmbeddedPostgresError} START_FAILED when it is not ready after ten minutes, or `signal` aborts
 */
export async function whenReady(cluster: string, identity: ProcessIdentity, signal?: AbortSignal): Promise<Server | null> {
  const sinceMs = performance.now();
  while (await isAlive(identity)) {
    const file = await readPostmasterFile(cluster);
    if (file?.pid === identity.pid && file.status === "ready") return { ...identity, sockets: file.sockets };
    if (signal?.aborted || performance.now() - sinceMs > MAX_RECOVERY_MS) {
      throw new EmbeddedPostgresError("START_FAILED", `PostgreSQL (process ${identity.pid}) is not ready yet.`);
    }
    await sleep(CHECK_EVERY_MS);
  }
  return null;
}

/**
 * Prepares the lock files of a crashed server for a new start. They contain the pid of the dead server, which may now belong to:
 * - another process: PostgreSQL would consider the old server alive;
 * - a zombie;
 * - the new server itself, in a restarted container: the old file would make it look ready.
 *
 * `postmaster.pid` must stay: it also names the shared memory by which PostgreSQL detects backends of the dead server that still
 * write. It gets the pid of this process, because PostgreSQL considers a file with the pid of its parent stale.
 *
 * @returns whether the previous server crashed
 */
export async function disownDeadServer(cluster: string, sockets: string): Promise<boolean> {
  const path = join(cluster, "postmaster.pid");
  // Root must not follow a link that the account created. The file is changed in place, so that its owner stays the same.
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
 * Returns false when the file belongs to a running server: a node may have died after it started a server, and that server may have written
 * the file only now. A server replaces a stale file with a new one, so this never writes to a file that it did not read.
 */
async function putOwnPid(file: FileHandle, cluster: string): Promise<boolean> {
  let text = await file.readFile("utf8");
  if (text === "") {
    // Just created and not written yet, or left empty by a power loss.
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

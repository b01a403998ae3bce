import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Binaries } from "./binaries.ts";
import { openLog } from "./files.ts";
import { halt } from "./halt.ts";
import type { Place } from "./place.ts";
import { disownDeadServer, type Server, whenReady } from "./postmaster.ts";
import { identify, type ProcessIdentity } from "./process.ts";
import { cannotRun, lastError, runOptions } from "./run.ts";
import { serverArguments } from "./settings.ts";

/** Everything that starting the server needs, the first time or after a crash. */
export interface Site {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly log: string;
  readonly settings: Readonly<Record<string, string>>;
}

export type Launched =
  | { kind: "running"; server: Server }
  /** `retry`: it was killed, or the previous server crashed and left backends that must end first. */
  | { kind: "ended"; lastError: string; retry: boolean };

/**
 * Starts a server on a cluster that has none, and waits until it accepts connections. The server has its own process session, so that
 * Ctrl-C reaches only the node. It does not keep the node's event loop running.
 *
 * @throws {EmbeddedPostgresError} BINARIES_UNUSABLE, NO_UNPRIVILEGED_USER, START_FAILED when it is not ready after ten minutes
 */
export async function launch(site: Site, signal?: AbortSignal): Promise<Launched> {
  const { cluster, sockets } = site.place;
  const crashedBefore = await disownDeadServer(cluster, sockets);
  const log = await openLog(site.log);
  try {
    const from = (await log.stat()).size;
    const child = await spawnServer(site, log.fd);
    const identity = await identify(child.pid as number);
    const server = identity && (await readyUnlessAborted(cluster, identity, signal));
    if (server) return { kind: "running", server };
    const said = (await readFile(site.log)).subarray(from).toString();
    return { kind: "ended", lastError: lastError(said), retry: crashedBefore || child.signalCode !== null };
  } finally {
    await log.close();
  }
}

async function readyUnlessAborted(cluster: string, identity: ProcessIdentity, signal?: AbortSignal): Promise<Server | null> {
  try {
    return await whenReady(cluster, identity, signal);
  } catch (error) {
    // Nothing waits for it any more, and other processes may not be able to find it yet.
    if (signal?.aborted) await halt(identity, cluster);
    throw error;
  }
}

async function spawnServer({ place, binaries, settings }: Site, logFd: number): Promise<ChildProcess> {
  const { cluster, sockets, account } = place;
  try {
    const child = spawn(binaries.postgres, serverArguments(cluster, sockets, settings), {
      ...runOptions(account),
      detached: true,
      stdio: ["ignore", logFd, logFd],
    });
    await once(child, "spawn");
    child.unref();
    return child;
  } catch (error) {
    throw cannotRun(binaries.postgres, account, error);
  }
}

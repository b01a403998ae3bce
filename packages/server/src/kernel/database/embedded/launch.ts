import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Binaries } from "./binaries.ts";
import { openLog } from "./files.ts";
import { halt } from "./halt.ts";
import type { Place } from "./place.ts";
import { disownDeadServer, type Server, whenReady } from "./postmaster.ts";
import { identify, type ProcessIdentity } from "./process.ts";
import { cannotRun, lastWords, runOptions } from "./run.ts";
import { serverArguments } from "./settings.ts";

/** All that a start of the server needs, whether the first or one after a crash. */
export interface Site {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly log: string;
  readonly settings: Readonly<Record<string, string>>;
}

export type Launched =
  | { kind: "running"; server: Server }
  /** `retry`: somebody killed it, or the last server crashed and left backends that PostgreSQL waits to see gone. */
  | { kind: "ended"; lastWords: string; retry: boolean };

/**
 * Starts a server on a cluster that has none, and waits until it takes connections. In a session of its own, so that a
 * Ctrl-C meant for the node passes it by, and without holding on to the node's event loop.
 *
 * @throws {EmbeddedPostgresError} BINARIES_UNUSABLE, NO_UNPRIVILEGED_USER, START_FAILED when it is not ready in ten minutes
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
    return { kind: "ended", lastWords: lastWords(said), retry: crashedBefore || child.signalCode !== null };
  } finally {
    await log.close();
  }
}

async function readyUnlessAborted(cluster: string, identity: ProcessIdentity, signal?: AbortSignal): Promise<Server | null> {
  try {
    return await whenReady(cluster, identity, signal);
  } catch (error) {
    // Nobody waits for it any more, and it may be too young for others to find it.
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

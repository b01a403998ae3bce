import { join } from "node:path";
import type { EmitEvent } from "../../events.ts";
import { doneUnless } from "../../system-error.ts";
import { findInstalled, provideBinaries } from "./binaries.ts";
import { hasCluster, initialise } from "./cluster.ts";
import { explainRefusal, openDataDir } from "./directory.ts";
import { ensureServer, stopServer } from "./ensure.ts";
import type { Site } from "./launch.ts";
import { withLock } from "./lock.ts";
import { joined, left, newMember, type Role, readMembership, writeMembership } from "./members.ts";
import { choosePlace, recordPlace } from "./place.ts";
import { type Connection, connectionTo } from "./session.ts";
import { watchServer } from "./watch.ts";

/** An embedded PostgreSQL that runs and accepts connections. */
export interface EmbeddedPostgres {
  /** Settings for node-postgres: the directory of the Unix socket as host, no password. They stay the same until `stop`. */
  readonly connection: Connection;
  /** Whether the server was already running: left by a node that died, or in use by another process. */
  readonly adopted: boolean;
  /** Releases the server. The last owner stops it. If only guests have used it since a guest started it, the last guest does. Can be repeated. */
  stop(): Promise<void>;
}

interface Options {
  readonly dataDir: string;
  readonly as: Role;
  readonly emit: EmitEvent;
  readonly settings?: Record<string, string>;
}

/**
 * Starts the PostgreSQL of a data directory, or uses the one that already runs. Several processes may call it at the same time: one
 * starts the server, and all use it.
 *
 * @param options.dataDir created if missing; the cluster is in its `postgres`, or where its `postgres.json` says
 * @param options.as an owner restarts the server whenever it dies, and finally stops it; a guest only uses it
 * @param options.emit gets postgres_initialised, postgres_started, postgres_adopted, postgres_died, postgres_restart_failed,
 *   postgres_stopped, postgres_left_running
 * @param options.settings settings of the server that override the defaults, if this call starts it
 * @throws {EmbeddedPostgresError} when the embedded PostgreSQL cannot be used; the message says what to do
 */
export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  try {
    return await start(options);
  } catch (error) {
    throw explainRefusal(options.dataDir, error);
  }
}

async function start({ as, emit, settings = {}, ...options }: Options): Promise<EmbeddedPostgres> {
  const installed = await findInstalled();
  const dataDir = await openDataDir(options.dataDir);
  const lock = join(dataDir, "postgres.lock");
  const membersFile = join(dataDir, "postgres.members.json");
  const member = await newMember(as);

  const { site, server, found } = await withLock(lock, async () => {
    const before = await readMembership(membersFile);
    const place = await choosePlace(dataDir);
    const binaries = await provideBinaries(installed, place);
    const site: Site = { place, binaries, settings, log: join(dataDir, "postgres.log") };
    await prepare(site, emit);
    await recordPlace(dataDir, place);
    const running = await ensureServer(site, emit);
    await writeMembership(membersFile, joined(before, member, running.found));
    // A restarted server must use the same socket, because the caller's pool keeps its address.
    return { site: { ...site, place: { ...place, sockets: running.server.sockets } }, ...running };
  });

  const revive = (signal: AbortSignal) => withLock(lock, async () => (await ensureServer(site, emit, signal)).server);
  const watch = as === "owner" ? watchServer(server, revive, emit) : null;

  const release = () =>
    withLock(lock, async () => {
      const { after, stopsServer } = left(await readMembership(membersFile), member);
      if (stopsServer) await stopServer(site, emit);
      await writeMembership(membersFile, after);
    });
  let stopped: Promise<unknown> | undefined;
  return {
    connection: connectionTo(server.sockets),
    adopted: found,
    stop: async () => {
      // If the data directory was deleted, the lock is gone, and the server ends by itself without its data.
      stopped ??= Promise.resolve(watch?.stop()).then(() => doneUnless("ENOENT", release()));
      await stopped;
    },
  };
}

async function prepare({ place, binaries }: Site, emit: EmitEvent): Promise<void> {
  if (await hasCluster(place, binaries)) return;
  const sinceMs = performance.now();
  await initialise(place, binaries);
  emit("postgres_initialised", { cluster: place.cluster, tookMs: Math.round(performance.now() - sinceMs) });
}

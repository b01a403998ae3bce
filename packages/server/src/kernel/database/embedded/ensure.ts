import { setTimeout as sleep } from "node:timers/promises";
import type { EmitEvent } from "../../events.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { halt } from "./halt.ts";
import { launch, type Site } from "./launch.ts";
import { findServer, readPostmasterFile, type Server, whenReady } from "./postmaster.ts";
import { verifyServer } from "./session.ts";

/** A running server, and whether it was found running or started here. */
export interface Ensured {
  readonly server: Server;
  readonly found: boolean;
}

/**
 * Some failures pass within this time: a server that is shutting down, backends that outlive a killed server, a crash a moment ago.
 * Milliseconds.
 */
const MAX_WAIT_MS = 15_000;
const RETRY_AFTER_MS = 100;
/** How long processes that a killed server has just started may continue to listen on its socket. Milliseconds. */
const MAX_ORPHANS_MS = 3_000;

/**
 * Ensures that a server runs on the site's cluster: the one that already runs, or a new one. Call it only under the lock.
 *
 * @throws {EmbeddedPostgresError}
 */
export async function ensureServer(site: Site, emit: EmitEvent, signal?: AbortSignal): Promise<Ensured> {
  const sinceMs = performance.now();
  const mayRetry = (maxMs = MAX_WAIT_MS) => performance.now() - sinceMs < maxMs && !signal?.aborted;
  let launchedPid: number | null = null;
  for (;;) {
    const running = await adoptOrLaunch(site, mayRetry, signal).catch((error: unknown) => {
      if (error instanceof EmbeddedPostgresError && error.code === "IN_USE_ELSEWHERE" && mayRetry(MAX_ORPHANS_MS)) return null;
      throw error;
    });
    if (running) {
      const { server } = running;
      if (!running.found) launchedPid = server.pid;
      const found = server.pid !== launchedPid;
      const failure = await failureOf(site, server);
      if (failure === null) {
        const tookMs = Math.round(performance.now() - sinceMs);
        emit(found ? "postgres_adopted" : "postgres_started", { pid: server.pid, cluster: site.place.cluster, tookMs });
        return { server, found };
      }
      if (!mayRetry()) {
        if (!found) await halt(server, site.place.cluster);
        const message = `PostgreSQL (process ${server.pid}) is running but does not accept connections: ${failure.message}.`;
        throw new EmbeddedPostgresError("START_FAILED", message, { cause: failure });
      }
    }
    await sleep(RETRY_AFTER_MS);
  }
}

/** Stops the site's server, if one runs. Call it only under the lock. */
export async function stopServer({ place: { cluster } }: Site, emit: EmitEvent): Promise<void> {
  const sinceMs = performance.now();
  const server = await findServer(cluster);
  if (!server) return;
  const mode = await halt(server, cluster);
  const tookMs = Math.round(performance.now() - sinceMs);
  if (mode) emit("postgres_stopped", { pid: server.pid, mode, tookMs });
  else emit("postgres_left_running", { pid: server.pid, tookMs });
}

/** Returns null when no server is ready yet, but one may be soon. */
async function adoptOrLaunch(site: Site, mayRetry: () => boolean, signal?: AbortSignal): Promise<Ensured | null> {
  const { cluster } = site.place;
  const running = await findServer(cluster);
  if (running) {
    // If another process asked it to stop, it would wait until the last client disconnects.
    if ((await readPostmasterFile(cluster))?.status === "stopping") await halt(running, cluster);
    const server = await whenReady(cluster, running, signal);
    return server && { server, found: true };
  }
  const launched = await launch(site, signal);
  if (launched.kind === "running") return { server: launched.server, found: false };
  // The new server gave way to another one, which was started by a node that died before it could record it.
  if (mayRetry() && (launched.retry || (await findServer(cluster)))) return null;
  throw new EmbeddedPostgresError("START_FAILED", `PostgreSQL did not start: ${launched.lastError} (see ${site.log}).`);
}

/** Returns the error of a failed connection, which may be temporary. Null when the connection works. */
async function failureOf({ place }: Site, { sockets }: Server): Promise<Error | null> {
  try {
    await verifyServer(sockets, place.cluster);
    return null;
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(error instanceof Error)) throw error;
    return error;
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import type { EmitEvent } from "../../events.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { halt } from "./halt.ts";
import { launch, type Site } from "./launch.ts";
import { findServer, readPostmasterFile, type Server, whenReady } from "./postmaster.ts";
import { verifyServer } from "./session.ts";

/** Whether the server was found running, or started here. */
export interface Ensured {
  readonly server: Server;
  readonly found: boolean;
}

/** What passes by itself within this: a server that shuts down, backends that outlive a killed one, a crash just now. */
const PATIENCE_MS = 15_000;
const RETRY_AFTER_MS = 100;

/**
 * Has a server run on the site's cluster: the one that runs there already, else a new one. Under the lock only.
 *
 * @throws {EmbeddedPostgresError}
 */
export async function ensureServer(site: Site, emit: EmitEvent, signal?: AbortSignal): Promise<Ensured> {
  const sinceMs = performance.now();
  const isPatient = () => performance.now() - sinceMs < PATIENCE_MS && !signal?.aborted;
  let launchedPid: number | null = null;
  for (;;) {
    const running = await adoptOrLaunch(site, isPatient, signal);
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
      if (!isPatient()) {
        if (!found) await halt(server, site.place.cluster);
        const message = `PostgreSQL (process ${server.pid}) runs but takes no connections: ${failure.message}.`;
        throw new EmbeddedPostgresError("START_FAILED", message, { cause: failure });
      }
    }
    await sleep(RETRY_AFTER_MS);
  }
}

/** Stops the site's server, if one runs. Under the lock only. */
export async function stopServer({ place: { cluster } }: Site, emit: EmitEvent): Promise<void> {
  const sinceMs = performance.now();
  const server = await findServer(cluster);
  if (!server) return;
  const mode = await halt(server, cluster);
  const tookMs = Math.round(performance.now() - sinceMs);
  if (mode) emit("postgres_stopped", { pid: server.pid, mode, tookMs });
  else emit("postgres_left_running", { pid: server.pid, tookMs });
}

/** Null when there is none yet but may be soon. */
async function adoptOrLaunch(site: Site, isPatient: () => boolean, signal?: AbortSignal): Promise<Ensured | null> {
  const { cluster } = site.place;
  const running = await findServer(cluster);
  if (running) {
    // Told to end by somebody else, it would wait for the last client to leave.
    if ((await readPostmasterFile(cluster))?.status === "stopping") await halt(running, cluster);
    const server = await whenReady(cluster, running, signal);
    return server && { server, found: true };
  }
  const launched = await launch(site, signal);
  if (launched.kind === "running") return { server: launched.server, found: false };
  // It gave way to another: one that a node started which died before it could tell.
  if (isPatient() && (launched.retry || (await findServer(cluster)))) return null;
  throw new EmbeddedPostgresError("START_FAILED", `PostgreSQL did not start: ${launched.lastWords} (see ${site.log}).`);
}

/** What kept us from talking to the server, which may pass; null when all is well. */
async function failureOf({ place }: Site, { sockets }: Server): Promise<Error | null> {
  try {
    await verifyServer(sockets, place.cluster);
    return null;
  } catch (error) {
    if (error instanceof EmbeddedPostgresError || !(error instanceof Error)) throw error;
    return error;
  }
}

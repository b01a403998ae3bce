import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Binaries } from "./binaries.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { openLog } from "./files.ts";
import type { Place } from "./place.ts";
import { becomesReady, disownDeadServer, type Server } from "./postmaster.ts";
import { identify } from "./process.ts";
import { cannotRun, lastWords, runOptions } from "./run.ts";
import { serverArguments } from "./settings.ts";

/** All that a start of the server needs, whether the first or one after a crash. */
export interface Site {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly log: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** Backends outlive a killed server until they next look; until the last is gone PostgreSQL refuses to start. */
const MOST_WAIT_FOR_BACKENDS_MS = 15_000;
const RETRY_AFTER_MS = 50;

/**
 * Starts a server on a cluster that has none, and waits until it takes connections. In a session of its own, so that a
 * Ctrl-C meant for the node passes it by, and without holding on to the node's event loop.
 *
 * @throws {EmbeddedPostgresError} START_FAILED with PostgreSQL's last words, BINARIES_UNUSABLE, NO_UNPRIVILEGED_USER
 */
export async function launch(site: Site, signal?: AbortSignal): Promise<Server> {
  const { cluster, sockets } = site.place;
  const sinceMs = performance.now();
  for (;;) {
    const crashedBefore = await disownDeadServer(cluster, sockets);
    const log = await openLog(site.log);
    try {
      const from = (await log.stat()).size;
      const identity = await identify(await spawnServer(site, log.fd));
      if (identity && (await becomesReady(cluster, identity, signal))) return { ...identity, sockets };
      if (crashedBefore && performance.now() - sinceMs < MOST_WAIT_FOR_BACKENDS_MS) {
        await sleep(RETRY_AFTER_MS);
        continue;
      }
      const said = (await readFile(site.log)).subarray(from).toString();
      throw new EmbeddedPostgresError("START_FAILED", `PostgreSQL did not start: ${lastWords(said)} (see ${site.log}).`);
    } finally {
      await log.close();
    }
  }
}

async function spawnServer({ place, binaries, settings }: Site, logFd: number): Promise<number> {
  const { cluster, sockets, account } = place;
  try {
    const child = spawn(binaries.postgres, serverArguments(cluster, sockets, settings), {
      ...runOptions(account),
      detached: true,
      stdio: ["ignore", logFd, logFd],
    });
    await once(child, "spawn");
    child.unref();
    return child.pid as number;
  } catch (error) {
    throw cannotRun(binaries.postgres, account, error);
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import type { EmitEvent } from "../../events.ts";
import type { Server } from "./postmaster.ts";
import { isAlive } from "./process.ts";

const CHECK_EVERY_MS = 250;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 30_000;
/** After a server ran for this long, the backoff starts from the beginning again. Milliseconds. */
const LIVED_MS = 60_000;

export interface Watch {
  /** Ends the watch, and waits for a running start to end. */
  stop(): Promise<void>;
}

/** Restarts a server that dies. The wait before a restart doubles with each failure. Does not keep Node running. */
export function watchServer(server: Server, revive: (signal: AbortSignal) => Promise<Server>, emit: EmitEvent): Watch {
  const stopping = new AbortController();
  const ended = watch(server, revive, emit, stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

async function watch(first: Server, revive: (signal: AbortSignal) => Promise<Server>, emit: EmitEvent, signal: AbortSignal): Promise<void> {
  let server: Server | null = first;
  let sinceMs = performance.now();
  let backoffMs = 0;
  while (!signal.aborted) {
    // A failed check (for example because there are too many open files) does not mean that the server died.
    if (server && (await isAlive(server).catch(() => true))) {
      await pause(CHECK_EVERY_MS, signal);
      continue;
    }
    if (server) emit("postgres_died", { pid: server.pid });
    if (performance.now() - sinceMs > LIVED_MS) backoffMs = 0;
    await pause(backoffMs, signal);
    if (signal.aborted) return;
    backoffMs = Math.min(Math.max(FIRST_BACKOFF_MS, 2 * backoffMs), MAX_BACKOFF_MS);
    try {
      server = await revive(signal);
    } catch (error) {
      server = null;
      if (!signal.aborted) emit("postgres_restart_failed", { error, retryInMs: backoffMs });
    }
    sinceMs = performance.now();
  }
}

/** Ends early, without an error, when `signal` aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { ref: false, signal }).catch(() => {});

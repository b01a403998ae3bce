import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, isPostmasterOf, type ProcessIdentity } from "./process.ts";

/** PostgreSQL's shutdown modes. `fast` ends after a checkpoint; `immediate` ends immediately and needs recovery at the next start. */
const SHUTDOWN_MODES = [
  { mode: "fast", signal: "SIGINT", waitMs: 20_000 },
  { mode: "immediate", signal: "SIGQUIT", waitMs: 5_000 },
] as const;

const CHECK_EVERY_MS = 5;

/** Stops a server: first `fast`, then `immediate`. Returns null when it does not end, or is no longer the cluster's server. */
export async function halt(server: ProcessIdentity, cluster: string): Promise<"fast" | "immediate" | null> {
  for (const { mode, signal, waitMs } of SHUTDOWN_MODES) {
    // Another process may have the pid now.
    if (!(await isAlive(server)) || !(await isPostmasterOf(server.pid, cluster))) return null;
    process.kill(server.pid, signal);
    if (await ends(server, waitMs)) return mode;
  }
  return null;
}

async function ends(server: ProcessIdentity, waitMs: number): Promise<boolean> {
  const sinceMs = performance.now();
  while (await isAlive(server)) {
    if (performance.now() - sinceMs > waitMs) return false;
    await sleep(CHECK_EVERY_MS);
  }
  return true;
}

import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, isPostmasterOf, type ProcessIdentity } from "./process.ts";

/** PostgreSQL's own words for how it ends: after a checkpoint, or at once and with recovery at the next start. */
const WAYS = [
  { mode: "fast", signal: "SIGINT", waitMs: 20_000 },
  { mode: "immediate", signal: "SIGQUIT", waitMs: 5_000 },
] as const;

const LOOK_EVERY_MS = 5;

/** Ends a server, gently first. Null when it would not end, or is no longer the cluster's. */
export async function halt(server: ProcessIdentity, cluster: string): Promise<"fast" | "immediate" | null> {
  for (const { mode, signal, waitMs } of WAYS) {
    // The pid may have gone to another process meanwhile.
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
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}

import { readFileSync, rmSync } from "node:fs";
import path from "node:path";

/**
 * Ends the PostgreSQL of a temporary data directory and deletes the directory, if this process exits before it has stopped the server, for
 * example on a signal. Returns a function that cancels this.
 */
export function endPostgresOnExit(dataDir: string): () => void {
  const end = () => {
    const pid = postmasterOf(path.join(dataDir, "postgres"));
    // At once, as its data is not kept.
    if (pid !== null) process.kill(pid, "SIGQUIT");
    // What its processes write meanwhile is deleted in the next try.
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", end);
  return () => process.off("exit", end);
}

/** Null: no server runs on the cluster. */
function postmasterOf(cluster: string): number | null {
  try {
    const pid = Number(readFileSync(path.join(cluster, "postmaster.pid"), "utf8").split("\n", 1)[0]);
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}

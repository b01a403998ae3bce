import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

const MAX_WAIT_MS = 5_000;
const LOOK_MS = 10;

/**
 * Ends the PostgreSQL of a temporary data directory and deletes the directory, if this process exits before it has stopped the server, for
 * example on a signal. Returns a function that cancels this.
 */
export function endPostgresOnExit(dataDir: string): () => void {
  const end = () => {
    endServer(path.join(dataDir, "postgres", "postmaster.pid"));
    rmSync(dataDir, { recursive: true, force: true });
  };
  process.once("exit", end);
  return () => process.off("exit", end);
}

/** Ends the server at once, as its data is not kept, and waits until it has deleted its file: an exiting process cannot wait otherwise. */
function endServer(file: string): void {
  if (!existsSync(file)) return;
  process.kill(Number(readFileSync(file, "utf8").split("\n", 1)[0]), "SIGQUIT");
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; existsSync(file) && waitedMs < MAX_WAIT_MS; waitedMs += LOOK_MS) Atomics.wait(pause, 0, 0, LOOK_MS);
}

import { readdir, readlink, rm, symlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { doneUnless, unless } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { identifySelf, isAlive } from "./process.ts";

const FREE = "free";
const CHECK_EVERY_MS = 10;
/** A node holds the lock while the server that it started recovers from a crash, which may take this long. */
const MAX_WAIT_MS = 600_000;

/**
 * Runs `work` while no other process, and no other call in this process, holds the lock `path`. The lock of a dead process is free.
 *
 * The lock is a sequence of symbolic links `<path>.<generation>`, each with the name of its holder. The highest generation counts. It
 * is never deleted, only superseded: a process that finds it free, or its holder dead, tries to create the next generation, and only
 * one succeeds. So no process can remove a lock that another has just taken, which can happen when stale lock files are deleted.
 *
 * @throws {EmbeddedPostgresError} START_FAILED when a living process holds it for ten minutes
 */
export async function withLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const generation = await acquire(path);
  try {
    return await work();
  } finally {
    await make(path, generation + 1, FREE);
    await forget(path, generation + 1);
  }
}

async function acquire(path: string): Promise<number> {
  const self = await identifySelf();
  const sinceMs = performance.now();
  for (;;) {
    const newest = await newestOf(path);
    if (!(await isHeld(newest.holder))) {
      const mine = newest.generation + 1;
      if (await make(path, mine, `${self.pid} ${self.started}`)) {
        // Other processes may have taken and released the lock since the check. Then `mine` was free only because it is outdated.
        if ((await newestOf(path)).generation === mine) {
          await forget(path, mine);
          return mine;
        }
        await rm(`${path}.${mine}`, { force: true });
      }
    } else if (performance.now() - sinceMs > MAX_WAIT_MS) {
      throw new EmbeddedPostgresError("START_FAILED", `Another process (${newest.holder}) has held ${path} for ten minutes.`);
    } else {
      await sleep(CHECK_EVERY_MS);
    }
  }
}

async function generationsOf(path: string): Promise<number[]> {
  const prefix = `${basename(path)}.`;
  const names = await readdir(dirname(path));
  const numbers = names.filter((name) => name.startsWith(prefix)).map((name) => Number(name.slice(prefix.length)));
  return numbers.filter(Number.isSafeInteger);
}

async function newestOf(path: string): Promise<{ generation: number; holder: string }> {
  for (;;) {
    const generation = Math.max(0, ...(await generationsOf(path)));
    if (generation === 0) return { generation, holder: FREE };
    const holder = await unless("ENOENT", null, readlink(`${path}.${generation}`));
    if (holder !== null) return { generation, holder };
  }
}

async function isHeld(holder: string): Promise<boolean> {
  if (holder === FREE) return false;
  const gap = holder.indexOf(" ");
  return await isAlive({ pid: Number(holder.slice(0, gap)), started: holder.slice(gap + 1) });
}

/** Returns whether this call created the link. The creation of a symbolic link is atomic. */
const make = (path: string, generation: number, holder: string): Promise<boolean> =>
  doneUnless("EEXIST", symlink(holder, `${path}.${generation}`));

/** Removes the generations before `newest`. */
async function forget(path: string, newest: number): Promise<void> {
  const old = (await generationsOf(path)).filter((generation) => generation < newest);
  await Promise.all(old.map((generation) => rm(`${path}.${generation}`, { force: true })));
}

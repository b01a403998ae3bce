import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Linux keeps the files below in memory. */
const IN_MEMORY = "/dev/shm";
/** A full run fills about half of this. */
const NEEDED_BYTES = 8 * 2 ** 30;

/**
 * Where tests put their databases: in memory where there is room for all of them, because tests on a disk take 1.5 times as long. Otherwise
 * where the system has its temporary files. `TMPDIR` overrides the choice.
 */
export function temporaryDirectory(): string {
  if (process.env.TMPDIR !== undefined || process.availableMemory() < NEEDED_BYTES) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize < NEEDED_BYTES ? tmpdir() : IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

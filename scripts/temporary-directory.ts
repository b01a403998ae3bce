import { statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";

/** Linux keeps the files below in memory. */
const IN_MEMORY = "/dev/shm";
/** A run of all tests leaves half of this there until it ends. */
const NEEDED_BYTES = 8 * 2 ** 30;

/**
 * Where tests put their databases: in memory where there is room for all of them, because a disk makes a run half as long again. Otherwise
 * where the system has its temporary files. `TMPDIR` overrides the choice.
 */
export function temporaryDirectory(): string {
  if (process.env.TMPDIR !== undefined || freemem() < NEEDED_BYTES) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize < NEEDED_BYTES ? tmpdir() : IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

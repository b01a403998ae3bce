import { execFile, type SpawnOptions } from "node:child_process";
import { promisify } from "node:util";
import { systemCode } from "../../system-error.ts";
import type { Account } from "./account.ts";
import { mayNotBecome } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";

const execute = promisify(execFile);

/**
 * How every program of PostgreSQL is run: as the account, from a directory that all may enter, and with none of the PG*
 * variables, locales or preloads of our own environment. TZ spares initdb a search through all time zones.
 */
export const runOptions = (account: Account | null) =>
  ({
    cwd: "/",
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
    ...(account && { uid: account.uid, gid: account.gid }),
  }) satisfies SpawnOptions;

/**
 * Runs a program to its end.
 *
 * @throws {EmbeddedPostgresError} START_FAILED with what it wrote, or why it could not be run
 */
export async function runProgram(file: string, args: readonly string[], account: Account | null): Promise<void> {
  try {
    await execute(file, args, runOptions(account));
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (stderr === undefined || systemCode(error) !== "") throw cannotRun(file, account, error);
    throw new EmbeddedPostgresError("START_FAILED", `${file} failed: ${lastWords(stderr)}.`, { cause: error });
  }
}

/** What it means that the system did not even begin to run one of the binaries. */
export function cannotRun(file: string, account: Account | null, cause: unknown): EmbeddedPostgresError {
  const code = systemCode(cause);
  if (code === "EPERM" && account) return mayNotBecome(account, cause);
  // The file is there; what the kernel misses is the loader that it names.
  const why = code === "ENOENT" ? "it needs the GNU C library, which this system (Alpine Linux or another with musl?) has not" : code;
  return new EmbeddedPostgresError("BINARIES_UNUSABLE", `${file} cannot be run: ${why}.`, { cause });
}

/** The line of a log that tells most about its end. */
export function lastWords(log: string): string {
  const lines = log
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const telling = lines.findLast((line) => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? "no word of why";
  return telling.replace(/^.*\b(FATAL|PANIC|error):\s*/, "").replace(/\.$/, "");
}

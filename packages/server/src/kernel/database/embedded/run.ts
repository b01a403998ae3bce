import { execFile, type SpawnOptions } from "node:child_process";
import { promisify } from "node:util";
import { systemCode } from "../../system-error.ts";
import type { Account } from "./account.ts";
import { cannotSwitchUser } from "./directory.ts";
import { EmbeddedPostgresError } from "./error.ts";

const execute = promisify(execFile);

/**
 * Options for all programs of PostgreSQL. They run as the account, in a directory that everyone may enter, and without the PG*
 * variables, locales and preloads of the node's environment. TZ saves initdb a search through all time zones.
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
 * @throws {EmbeddedPostgresError} START_FAILED with the program's error message, or the error of `cannotRun`
 */
export async function runProgram(file: string, args: readonly string[], account: Account | null): Promise<void> {
  try {
    await execute(file, args, runOptions(account));
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (stderr === undefined || systemCode(error) !== "") throw cannotRun(file, account, error);
    throw new EmbeddedPostgresError("START_FAILED", `${file} failed: ${lastError(stderr)}.`, { cause: error });
  }
}

/** Explains why the system could not start a program. */
export function cannotRun(file: string, account: Account | null, cause: unknown): EmbeddedPostgresError {
  const code = systemCode(cause);
  if (code === "EPERM" && account) return cannotSwitchUser(account, cause);
  // The file exists. ENOENT means that its loader does not.
  const why = code === "ENOENT" ? "it needs the GNU C library, which is missing (Alpine Linux and others with musl do not have it)" : code;
  return new EmbeddedPostgresError("BINARIES_UNUSABLE", `${file} cannot be run: ${why}.`, { cause });
}

/** The line of a log that best explains why the program ended. */
export function lastError(log: string): string {
  const lines = log
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const reason = lines.findLast((line) => /\b(FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? "it gave no reason";
  return reason.replace(/^.*\b(FATAL|PANIC|error):\s*/, "").replace(/\.$/, "");
}

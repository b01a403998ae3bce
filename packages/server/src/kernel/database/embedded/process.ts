import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { promisify } from "node:util";
import { systemCode } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";

const run = promisify(execFile);

/** A process, told apart from a later one with the same pid by when it started. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Who has this pid now; null when nobody has, or only a zombie that its parent has not buried. */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const started = process.platform === "linux" ? startedOnLinux(pid) : await startedByPs(pid);
  return started === null ? null : { pid, started };
}

export async function identifySelf(): Promise<ProcessIdentity> {
  const self = await identify(process.pid);
  if (self) return self;
  throw new EmbeddedPostgresError("PLATFORM_UNSUPPORTED", "This system does not tell when a process started (/proc or ps).");
}

export const isAlive = async ({ pid, started }: ProcessIdentity): Promise<boolean> => (await identify(pid))?.started === started;

/** Whether `pid` is the main process of a PostgreSQL on `cluster`. Backends are not: they rewrite their command line. */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if ((await identify(pid)) === null) return false;
  return `${await commandLine(pid)} `.includes(` -D ${cluster} `) || workingDirectory(pid) === cluster;
}

/** Read synchronously: /proc is memory, and a server is looked at several times a second for as long as it lives. */
function startedOnLinux(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name, in parentheses, may hold spaces and parentheses itself; state is the field after it, start the twentieth.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  // Ticks count from the boot, so that two boots may give the same pid the same tick.
  return `${read("/proc/sys/kernel/random/boot_id")?.trim() ?? ""}/${fields[19]}`;
}

async function startedByPs(pid: number): Promise<string | null> {
  const text = await ps(pid, ["-o", "state=", "-o", "lstart="]);
  return text === "" || text.startsWith("Z") ? null : text.replace(/^\S+\s+/, "");
}

async function commandLine(pid: number): Promise<string> {
  if (process.platform !== "linux") return await ps(pid, ["-ww", "-o", "command="]);
  return read(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trimEnd() ?? "";
}

/** Null where it cannot be known: for a process of another user it takes a right that root in a container may lack. */
function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** Null when the process has ended. */
function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(systemCode(error))) return null;
    throw error;
  }
}

async function ps(pid: number, columns: readonly string[]): Promise<string> {
  try {
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
    return (await run("ps", [...columns, "-p", String(pid)], { env })).stdout.trim();
  } catch {
    // ps exits with 1 when there is no such process.
    return "";
  }
}

import { execFile } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { promisify } from "node:util";
import { systemCode } from "../../system-error.ts";
import { EmbeddedPostgresError } from "./error.ts";

const run = promisify(execFile);

/** A process. Its start time distinguishes it from a later process with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Identifies the process that has this pid now. Null when there is none, or only a zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const started = process.platform === "linux" ? startedOnLinux(pid) : await startedByPs(pid);
  return started === null ? null : { pid, started };
}

export async function identifySelf(): Promise<ProcessIdentity> {
  const self = await identify(process.pid);
  if (self) return self;
  throw new EmbeddedPostgresError("PLATFORM_UNSUPPORTED", "Neither /proc nor ps shows the start times of processes on this system.");
}

export const isAlive = async ({ pid, started }: ProcessIdentity): Promise<boolean> => (await identify(pid))?.started === started;

/** Whether `pid` is the main process of a PostgreSQL on `cluster`. Backends do not match, because they change their command line. */
export async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if ((await identify(pid)) === null) return false;
  return `${await commandLine(pid)} `.includes(` -D ${cluster} `) || workingDirectory(pid) === cluster;
}

/** Reads synchronously, because /proc is in memory and a server is checked several times a second. */
function startedOnLinux(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name is in parentheses, and may contain spaces and parentheses. State is the first field after it, start time the twentieth.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z" || fields[0] === "X") return null;
  // Start times count from the boot, so a process of an earlier boot can have the same pid and start time.
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

/** Null when it cannot be read: for processes of other users, root in a container may lack the permission. */
function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** Reads a file of /proc. Null when the process has ended. */
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

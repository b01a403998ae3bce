import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../packages/server/test/harness/free-port.ts";

/** What Redis keeps when the machine fails: nothing, all but the last second, or all that it has acknowledged. */
export type RedisDurability = "memory" | "everysec" | "always";

export interface Redis {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A Redis on a port of its own. Null when redis-server is not installed. */
export async function startRedis(durability: RedisDurability): Promise<Redis | null> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), "tidemill-redis-"));
  const appends = durability === "memory" ? ["--appendonly", "no"] : ["--appendonly", "yes", "--appendfsync", durability];
  const data = ["--dir", directory, "--save", ""];
  const child = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", ...data, ...appends], { stdio: "ignore" });
  const missing = await Promise.race([once(child, "error").then(() => true), listens(port).then(() => false)]);
  const remove = () => rm(directory, { recursive: true, force: true });
  if (missing) {
    await remove();
    return null;
  }
  return { url: `redis://127.0.0.1:${port}`, pid: child.pid as number, stop: () => stop(child).finally(remove) };
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill();
  await exited;
}

async function listens(port: number): Promise<void> {
  for (;;) {
    const socket = createConnection(port, "127.0.0.1");
    const isOpen = await new Promise((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)));
    socket.destroy();
    if (isOpen) return;
    await wait(50);
  }
}

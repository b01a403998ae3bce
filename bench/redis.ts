import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../packages/server/test/harness/free-port.ts";

/** A Redis in memory, on a port of its own. Null when redis-server is not installed. */
export async function startRedis(): Promise<{ url: string; stop: () => Promise<void> } | null> {
  const port = await freePort();
  const child = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"], {
    stdio: "ignore",
  });
  const missing = await Promise.race([once(child, "error").then(() => true), listens(port).then(() => false)]);
  if (missing) return null;
  return { url: `redis://127.0.0.1:${port}`, stop: () => stop(child) };
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

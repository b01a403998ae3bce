import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../packages/server/test/harness/free-port.ts";

export interface RestateServer {
  readonly ingressUrl: string;
  readonly adminUrl: string;
  readonly stop: () => Promise<void>;
}

/** A Restate server with one node, on ports of its own. Null when `restate-server` is not in PATH. */
export async function startRestate(): Promise<RestateServer | null> {
  const directory = await mkdtemp(path.join(tmpdir(), "restate-"));
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  const child = spawn("restate-server", ["--no-logo", "--base-dir", directory, "--listen-mode", "tcp"], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}/`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_AUTO_PROVISION: "true",
      DO_NOT_TRACK: "1",
    },
  });
  // If the bench ends by an error.
  process.once("exit", () => child.kill());
  const adminUrl = `http://127.0.0.1:${admin}`;
  const missing = new AbortController();
  const isMissing = await Promise.race([once(child, "error").then(() => true), isHealthy(adminUrl, missing.signal).then(() => false)]);
  if (isMissing) {
    missing.abort();
    await rm(directory, { recursive: true, force: true });
    return null;
  }
  return {
    ingressUrl: `http://127.0.0.1:${ingress}`,
    adminUrl,
    async stop() {
      const exited = once(child, "exit");
      child.kill();
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function isHealthy(adminUrl: string, missing: AbortSignal): Promise<void> {
  while (
    !missing.aborted &&
    !(await fetch(`${adminUrl}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await wait(100);
}

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const PACKAGES = ["contract", "sdk", "dashboard", "server", "cli"];
/** Downloads of packages that npm's cache does not have take long. Milliseconds. */
const TIMEOUT_MS = 300_000;

/** Builds a copy of the repository, so that other tests see no `dist`, and packs its packages. Returns the tarballs. */
async function pack(into: string): Promise<string[]> {
  const copy = path.join(into, "repository");
  await mkdir(path.join(copy, "packages"), { recursive: true });
  for (const name of ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"])
    await cp(path.join(REPOSITORY, name), path.join(copy, name));
  await cp(path.join(REPOSITORY, "scripts/source-condition.js"), path.join(copy, "scripts/source-condition.js"));
  for (const name of PACKAGES) {
    const from = path.join(REPOSITORY, "packages", name);
    // The pages are built before the tests, from the same sources.
    const leftOut = name === "dashboard" ? /\/(node_modules|test)$/ : /\/(node_modules|dist|test)$/;
    await cp(from, path.join(copy, "packages", name), { recursive: true, filter: (file) => !leftOut.test(file) });
  }
  await linkModules(copy);
  await run("npm", ["run", "build"], { cwd: copy });
  const tarballs = path.join(into, "tarballs");
  await mkdir(tarballs);
  await run("npm", ["pack", "--pack-destination", tarballs, ...PACKAGES.map((name) => `./packages/${name}`)], { cwd: copy });
  return (await readdir(tarballs)).map((name) => path.join(tarballs, name));
}

/** The modules of the repository, but the copy's own packages. */
async function linkModules(copy: string): Promise<void> {
  const from = path.join(REPOSITORY, "node_modules");
  const to = path.join(copy, "node_modules");
  await mkdir(path.join(to, "@tidemill"), { recursive: true });
  for (const name of await readdir(from)) {
    if (name !== "@tidemill" && name !== "tidemill") await symlink(path.join(from, name), path.join(to, name));
  }
  for (const name of PACKAGES) {
    const { name: published } = JSON.parse(await readFile(path.join(copy, "packages", name, "package.json"), "utf8")) as { name: string };
    await symlink(path.join(copy, "packages", name), path.join(to, published));
    const own = path.join(REPOSITORY, "packages", name, "node_modules");
    await symlink(own, path.join(copy, "packages", name, "node_modules"));
  }
}

test("npx tidemill up works in an empty folder from packages, which name no sources", { timeout: TIMEOUT_MS }, async ({ stage }) => {
  const directory = stage.directory();
  const tarballs = await pack(directory);
  const empty = path.join(directory, "empty");
  await mkdir(empty);
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs], { cwd: empty });
  for (const name of PACKAGES) {
    const [packed, own] = [path.join(directory, "repository"), REPOSITORY].map((of) => path.join(of, "packages", name, "package.json"));
    expect(await readFile(packed as string, "utf8")).toBe(await readFile(own as string, "utf8"));
  }
  await rm(path.join(directory, "repository"), { recursive: true });

  // The condition of the repository, with which its own command loads an app's modules.
  const imports = `await import("@tidemill/sdk/testing"); await import("@tidemill/contract/journal");`;
  await run(process.execPath, ["--conditions=source", "--input-type=module", "--eval", imports], { cwd: empty });

  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TIDEMILL_PORT: "0",
    TIDEMILL_INTERNAL_PORT: "0",
    TIDEMILL_DATA_DIR: stage.dataDir(),
  };
  const npx = spawn("npx", ["tidemill", "up"], { cwd: empty, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  stage.finally(async () => killGroup(npx));
  let written = "";
  for (const stream of [npx.stdout, npx.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (written += text));
  await until(() => written.includes("Try it:"), "the node to be up");
  const [, url = ""] = /API +(\S+)/.exec(written) ?? [];
  const [key = ""] = /svc_ws_\w+/.exec(written) ?? [];
  await new Client(url, key).ok("POST", "/v1/queues", { name: "emails" });
  const { stdout } = await run("npx", ["tidemill", "enqueue", "emails", '{"to":"ada"}', "--json"], {
    cwd: empty,
    env: { ...env, TIDEMILL_URL: url, TIDEMILL_KEY: key },
  });
  expect(JSON.parse(stdout)).toMatchObject({ queue: "emails", payload: { to: "ada" } });
  expect(await (await fetch(`${url}/dashboard/`)).text()).toContain("<title>Tidemill</title>");
  process.kill(-(npx.pid as number), "SIGINT");
  await once(npx, "close");
});

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (exitCode === null && signalCode === null) process.kill(-(pid as number), "SIGKILL");
}

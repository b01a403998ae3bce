import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { hasPostgres, isRunning } from "../../server/test/harness/cluster.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

test.for([
  ["Ctrl-C, which reaches the whole group", "SIGINT", (pid: number) => -pid],
  ["a supervisor, which knows npm alone", "SIGTERM", (pid: number) => pid],
] as const)("npm start ends by %s", async ([, signal, target], { stage }) => {
  const dataDir = stage.dataDir();
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    TIDEMILL_DATA_DIR: dataDir,
    TIDEMILL_PORT: "0",
    TIDEMILL_INTERNAL_PORT: "0",
    TIDEMILL_LOG_LEVEL: "info",
  };
  // A process group of its own, as under a terminal.
  const npm = spawn("npm", ["start"], { cwd: REPOSITORY, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let written = "";
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (written += text));
  stage.finally(async () => npm.kill("SIGKILL"));
  await until(() => written.includes("node_started") && written.includes("API"), "the node to be up");
  const { members } = JSON.parse(readFileSync(path.join(dataDir, "postgres.members.json"), "utf8")) as { members: { pid: number }[] };
  const node = members[0]?.pid as number;
  stage.finally(async () => void ((await isRunning(node)) && process.kill(node, "SIGKILL")));

  process.kill(target(npm.pid as number), signal);
  await until(async () => !(await isRunning(node)), "the node to end");
  expect(await hasPostgres(dataDir)).toBe(false);
  await until(() => written.includes("node_stopped"), "the last lines of its log");
});

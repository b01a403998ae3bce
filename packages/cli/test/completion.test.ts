import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const COMMAND = fileURLToPath(new URL("../src/tidemill.ts", import.meta.url));

/** What bash offers after each of these lines. Without the package bash-completion, and with the script loaded twice, as by a second .bashrc. */
async function offers(...lines: readonly string[]): Promise<string[]> {
  const script = `
    tidemill() { "$NODE" --conditions=source "$COMMAND" "$@"; }
    script=$(tidemill completion bash)
    eval "$script"; eval "$script"
    for COMP_LINE in "$@"; do
      COMP_POINT=\${#COMP_LINE}
      _tidemill tidemill
      echo "\${COMPREPLY[*]}"
    done`;
  const env = { PATH: process.env.PATH, NODE: process.execPath, COMMAND };
  const { stdout, stderr } = await run("bash", ["--norc", "--noprofile", "-c", script, "bash", ...lines], { env });
  expect(stderr).toBe("");
  return stdout.split("\n").slice(0, -1);
}

test("bash completes commands and options", async () => {
  const [commands, operations, options] = await offers("tidemill que", "tidemill queue ", "tidemill queue list --js");
  expect(commands).toBe("queue");
  expect(operations?.split(" ")).toEqual(expect.arrayContaining(["list", "create", "delete"]));
  expect(options).toBe("--json");
});

test("bash does not execute what stands on the line that it completes", async ({ onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), "tidemill-completion-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "executed");
  expect(await offers(`tidemill $(touch ${file}) que`)).toHaveLength(1);
  expect(existsSync(file)).toBe(false);
});

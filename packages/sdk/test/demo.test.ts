import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { until } from "../../server/test/harness/service.ts";
import { type Stage, test } from "../../server/test/harness/stage.ts";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

/** `npm run demo`, which starts a node of its own. */
class Demo {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown[]>;
  output = "";

  constructor(args: readonly string[], stage: Stage) {
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TIDEMILL_DATA_DIR: stage.migratedDataDir(),
      TIDEMILL_PORT: "0",
      TIDEMILL_INTERNAL_PORT: "0",
    };
    this.#child = spawn("npm", ["run", "--silent", "demo", "--", ...args], { cwd: REPOSITORY, env, detached: true });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    // Its last output comes after its exit.
    this.#exit = once(this.#child, "close");
    stage.finally(async () => {
      if (this.#child.exitCode === null && this.#child.signalCode === null) process.kill(-(this.#child.pid as number), "SIGKILL");
    });
  }

  /** Returns what its output has. */
  async find(pattern: RegExp): Promise<string> {
    await until(() => pattern.test(this.output) || this.#child.exitCode !== null, `the demo to print ${pattern}`).catch((error: Error) => {
      throw new Error(`${error.message} It printed:\n${this.output}`);
    });
    return pattern.exec(this.output)?.[1] ?? "";
  }

  async end(): Promise<number | null> {
    await this.#exit;
    return this.#child.exitCode;
  }
}

const confirm = (command: string) => promisify(execFile)("sh", ["-c", command], { cwd: REPOSITORY });

test("the demo of workflows ends well when its command completes the signal", async ({ stage }) => {
  const demo = new Demo(["workflow", "--name", "Grace"], stage);
  const command = await demo.find(/^ +(TIDEMILL_URL=.*signal complete .*)$/m);
  await demo.find(/(worker-2 has taken its place)/);
  await confirm(command);
  expect([await demo.end(), demo.output]).toEqual([0, expect.stringContaining("Each step was executed once, by two workers.")]);
  expect(demo.output).toContain("worker-1 creates an account for Grace");
  expect(demo.output).toContain("worker-2 activates grace@example.com");
  expect(demo.output).toContain("worker-2 welcomes Grace");
  // The log of its node, JSON, would say nothing to who reads this.
  expect(demo.output).not.toMatch(/^\{/m);
});

test("the demo of workflows says that a sign-up was not confirmed", async ({ stage }) => {
  const demo = new Demo(["workflow"], stage);
  const command = await demo.find(/^ +(TIDEMILL_URL=.*signal complete .*)$/m);
  await confirm(command.replace('"ok":true', '"ok":false'));
  expect([await demo.end(), demo.output]).toEqual([1, expect.stringContaining("The sign-up was not confirmed.")]);
});

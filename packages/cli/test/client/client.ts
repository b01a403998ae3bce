import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { expect } from "vitest";
import { test as base, type Service } from "../../../server/test/harness/service.ts";
import { runHere } from "../run-here.ts";

/** The command of a user of a service, in this process. */
export class CommandLine {
  readonly directory = mkdtempSync(path.join(tmpdir(), "tidemill-cli-"));
  readonly environment: Readonly<Record<string, string>>;

  constructor({ node, key }: Service) {
    this.environment = { TIDEMILL_URL: node.url, TIDEMILL_KEY: key, XDG_CONFIG_HOME: this.directory };
  }

  run(...args: string[]): ReturnType<typeof runHere> {
    return runHere(args, this.environment);
  }

  /** As `run`, with a standard input. */
  runReading(stdin: Readable, ...args: string[]): ReturnType<typeof runHere> {
    return runHere(args, this.environment, { stdin });
  }

  /** The output of a command that must succeed. */
  async output(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout;
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test knows what it expects. A wrong guess fails it.
  async json(...args: string[]): Promise<any> {
    return JSON.parse(await this.output(...args, "--json"));
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export const test = base.extend("command", async ({ service }, { onCleanup }) => {
  const command = new CommandLine(service);
  onCleanup(() => command.close());
  return command;
});

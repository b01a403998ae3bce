import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { test } from "./client.ts";

const COMMAND = fileURLToPath(new URL("../../src/tidemill.ts", import.meta.url));

/** Starts a command in a process of its own. */
function start(args: readonly string[], env: Readonly<Record<string, string>>, stdout: "pipe" | number) {
  const child = spawn(process.execPath, ["--conditions=source", COMMAND, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", stdout, "pipe"],
  });
  onTestFinished(() => void child.kill());
  const ended = Promise.all([once(child, "exit"), text(child.stderr as Readable)]).then(([[code], stderr]) => ({ code, stderr }));
  return { stdout: child.stdout as Readable, ended };
}

/** Reads what a command prints until it contains a text, and closes the pipe. */
async function readUntil(stdout: Readable, text: string): Promise<string> {
  let printed = "";
  for await (const part of stdout) {
    printed += String(part);
    // Leaving the loop closes the pipe.
    if (printed.includes(text)) break;
  }
  return printed;
}

test.runIf(process.platform === "linux").for([[[]], [["--json"]]])(
  "output that the disk has no room for is an error: %j",
  async ([flags = []], { command }) => {
    const { ended } = start(["queue", "list", ...flags], command.environment, openSync("/dev/full", "w"));
    expect(await ended).toEqual({ code: 1, stderr: expect.stringMatching(/^tidemill: The output cannot be written: ENOSPC.*\n$/) });
  },
);

test.for([[[]], [["--json"]]])(
  "a list is printed as it is read, and ends when its reader has gone: %j",
  async ([flags = []], { command }) => {
    // Its list has no end.
    const endless = createServer((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ data: Array(100).fill({ id: "job_1", state: "waiting" }), next_cursor: "next" }));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void endless.close());
    await once(endless, "listening");
    const env = { ...command.environment, TIDEMILL_URL: `http://127.0.0.1:${(endless.address() as AddressInfo).port}` };
    const { stdout, ended } = start(["job", "list", "emails", "--all", ...flags], env, "pipe");
    await readUntil(stdout, "job_1");
    expect(await ended).toEqual({ code: 0, stderr: "" });
  },
);

test("tail ends when its reader has gone", async ({ command }) => {
  let jobs = 0;
  // A new job for each look.
  const busy = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: [{ id: `job_${++jobs}`, queue: "emails", state: "waiting", attempt: 0 }], next_cursor: null }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void busy.close());
  await once(busy, "listening");
  const env = { ...command.environment, TIDEMILL_URL: `http://127.0.0.1:${(busy.address() as AddressInfo).port}` };
  const { stdout, ended } = start(["tail", "emails", "--every", "1"], env, "pipe");
  await readUntil(stdout, "job_");
  expect(await ended).toEqual({ code: 0, stderr: "" });
});

test("dev ends when its reader has gone", async ({ command }) => {
  const { stdout, ended } = start(["dev", "--json", "--port", "0"], command.environment, "pipe");
  const { listening } = JSON.parse(await readUntil(stdout, "\n"));
  // It may end before it has responded.
  await fetch(listening, { method: "POST", body: "{}" }).catch(() => {});
  expect(await ended).toEqual({ code: 0, stderr: "" });
});

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { freePort } from "../../server/test/harness/free-port.ts";
import { type Service, test, until } from "../../server/test/harness/service.ts";

const page = readFileSync(new URL("../../../docs/getting-started.md", import.meta.url), "utf8");

const blockOf = (language: string): string => {
  const [, code] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(page) ?? [];
  if (code === undefined) throw new Error(`The page has no block of ${language}.`);
  return code;
};

test("the commands of the page deliver a callback", async ({ service }) => {
  const commands = blockOf("bash").replaceAll("9000", String(await freePort()));
  const env = { ...process.env, TIDEMILL_URL: service.node.url, TIDEMILL_KEY: service.key };
  // Not `execFileSync`: the node that it calls runs in this process.
  const shell = spawn("bash", ["-mc", commands], { env });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (text) => (output += text));
  await once(shell, "close");
  expect(output).toMatch(/received \{"id":"job_[^\n]*"payload":\{"to": ?"ada@example.com"\}/);
});

test("the worker of the page runs its job, and ends on SIGTERM, also when its queue is there", async ({ service, onTestFinished }) => {
  const directory = fileURLToPath(new URL("./.getting-started", import.meta.url));
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/worker.ts`, blockOf("ts"));
  const env = { ...process.env, TIDEMILL_URL: service.node.url, TIDEMILL_KEY: service.key };
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (let start = 0; start < 2; start += 1) await runWorker(service, `${directory}/worker.ts`, env, onTestFinished);
});

async function runWorker(service: Service, file: string, env: NodeJS.ProcessEnv, onTestFinished: (end: () => void) => void): Promise<void> {
  const worker: ChildProcess = spawn(process.execPath, ["--conditions=source", file], { env });
  onTestFinished(() => void worker.kill("SIGKILL"));
  let output = "";
  for (const stream of [worker.stdout, worker.stderr]) stream?.on("data", (text) => (output += text));
  await until(() => output.includes("sending to ada@example.com, attempt 1") || worker.exitCode !== null, "the worker to run its job");
  expect(output).toContain("sending to ada@example.com, attempt 1");
  const [, id = ""] = /enqueued (job_\w+)/.exec(output) ?? [];
  await service.untilState({ queue: "emails", id }, "completed");
  const exited = once(worker, "exit");
  worker.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
}

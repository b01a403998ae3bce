import { execFile, spawn, spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Tidemill } from "@tidemill/sdk";
import { expect } from "vitest";
import { until } from "../../server/test/harness/service.ts";
import { test } from "./harness/live.ts";
import { Receiver } from "./harness/receiver.ts";

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** The code blocks of a page in one language. */
function blocksOf(page: string, language: string): string[] {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, code = ""]) => code);
}

const isThere = (command: string): boolean => spawnSync(command, ["--help"]).error === undefined;

test("the code of the client's README runs from the first block to the last", async ({ live, onTestFinished }) => {
  // Beside the package's own files, where its dependencies are found.
  const file = `${PACKAGE}/readme-${process.pid}.ts`;
  onTestFinished(() => rmSync(file, { force: true }));
  writeFileSync(file, blocksOf("packages/sdk/README.md", "ts").join("\n"));
  const env = { PATH: process.env.PATH ?? "", TIDEMILL_URL: live.url, TIDEMILL_KEY: live.key };
  const { stdout } = await run(process.execPath, ["--conditions=source", file], { env });
  expect(stdout).toMatch(/^job_\w+ delayed$/m);
  expect(stdout).toMatch(/^404 There is no queue "absent"\. /m);
  expect(stdout).toContain("Not running: it is due in");
});

test("the worker and the calls of docs/workers.md complete jobs", async ({ live, onTestFinished, skip }) => {
  skip(!["bash", "curl"].every(isThere), "bash or curl is not on this machine");
  const tidemill = new Tidemill({ url: live.url, key: live.key });
  await tidemill.queues.create({ name: "emails" });
  const env = { PATH: process.env.PATH ?? "", TIDEMILL_URL: live.url, TIDEMILL_KEY: live.key };
  const emails = tidemill.queue<{ to: string }>("emails");

  const byCalls = await emails.enqueue({ to: "ada@example.com" });
  const [script = ""] = blocksOf("docs/workers.md", "bash");
  expect(JSON.parse((await run("bash", ["-euc", script], { env })).stdout)).toMatchObject({ leases: [{ id: byCalls.id, ok: true }] });
  expect(await emails.jobs.get(byCalls.id)).toMatchObject({ state: "completed", result: { sent: true } });

  const file = `${PACKAGE}/workers-${process.pid}.ts`;
  onTestFinished(() => rmSync(file, { force: true }));
  writeFileSync(file, blocksOf("docs/workers.md", "ts")[0] ?? "");
  const byWorker = await emails.enqueue({ to: "bob@example.com" });
  const worker = spawn(process.execPath, ["--conditions=source", file], { env, stdio: "ignore" });
  onTestFinished(() => void worker.kill("SIGKILL"));
  await until(async () => (await emails.jobs.get(byWorker.id)).state === "completed", "the worker to complete the job");
  expect(await emails.jobs.get(byWorker.id)).toMatchObject({ result: { sent: "bob@example.com" } });
});

test("the client's README names all that the client has", () => {
  const text = readFileSync(`${PACKAGE}/README.md`, "utf8");
  const client = new Tidemill({ url: "http://127.0.0.1:9", key: "k" });
  const members = [...Object.keys(client), ...Object.getOwnPropertyNames(Tidemill.prototype)].filter((name) => name !== "constructor");
  expect(members).toContain("schedules");
  expect(members.filter((name) => !new RegExp(`[\`.]${name}\\b`).test(text))).toEqual([]);
});

test("the request that docs/receivers.md signs by hand is accepted by a receiver", async ({ onTestFinished, skip }) => {
  skip(!["bash", "curl", "openssl"].every(isThere), "bash, curl or openssl is not on this machine");
  const secret = "cbs_pJ0yqXcS3nUzvR1bW5d8tKfHmLgQaEoYiCxN2V7T4Zs";
  const receiver = await Receiver.start([process.execPath, "--conditions=source", "node.ts"], secret);
  onTestFinished(() => receiver.stop());
  const [script = ""] = blocksOf("docs/receivers.md", "bash");
  const settings = { PATH: process.env.PATH ?? "", RECEIVER: receiver.url };
  expect((await run("bash", ["-euc", script], { env: { ...settings, CALLBACK_SECRET: secret } })).stdout).toBe(
    '{"sent":"ada@example.com"}',
  );
  expect((await run("bash", ["-euc", script], { env: { ...settings, CALLBACK_SECRET: `${secret}x` } })).stdout).toBe("");
});

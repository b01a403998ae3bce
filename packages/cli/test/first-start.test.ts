import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { Client } from "../../server/test/harness/client.ts";
import { until } from "../../server/test/harness/service.ts";
import { test } from "../../server/test/harness/stage.ts";

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));

test("the first start shows addresses, a key and a command to paste; the next ones do not show the key again", async ({ stage }) => {
  // Made up, not given.
  const settings = { TIDEMILL_DATA_DIR: stage.dataDir(), TIDEMILL_BOOTSTRAP_KEY: "", TIDEMILL_LOG_LEVEL: "warn" };
  const first = await stage.node(settings);
  const key = first.shownKey ?? "";
  expect(key).toMatch(/^svc_ws_[0-9A-Za-z]{38}$/);
  expect(first.stdout).toMatch(/Tidemill is up after \d+\.\d\d s\./);
  expect(first.stdout).toContain("shown this once");
  expect(first.stderr).toBe("");
  for (const address of [`${first.url}/docs`, `${first.url}/doc`, `${first.internalUrl}/metrics`])
    expect((await fetch(address)).status).toBe(200);

  const pasted = first.stdout.split("\n").find((line) => line.trim().startsWith("curl ")) ?? "";
  const { stdout } = await run("sh", ["-c", pasted]);
  expect(JSON.parse(stdout)).toMatchObject({ name: "hello", type: "standard" });
  const client = new Client(first.url, key);
  expect((await client.ok("GET", "/v1/queues")).data).toMatchObject([{ name: "hello" }]);
  first.signal("SIGINT");
  expect(await first.end()).toEqual({ code: 0, signal: null });
  expect(first.stderr).toBe("");

  const second = await stage.node(settings);
  expect(second.shownKey).toBeNull();
  expect(second.stdout).not.toContain(key);
  expect((await new Client(second.url, key).ok("GET", "/v1/queues")).data).toMatchObject([{ name: "hello" }]);

  const hint = /`(npm run tidemill -- workspace create NAME)`/.exec(second.stdout)?.[1] ?? "";
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TIDEMILL_DATA_DIR: settings.TIDEMILL_DATA_DIR };
  const made = await run("sh", ["-c", hint.replace("NAME", "another")], { cwd: REPOSITORY, env });
  const another = /svc_ws_\w+/.exec(made.stdout)?.[0] ?? "";
  expect((await new Client(second.url, another).ok("GET", "/v1/queues")).data).toEqual([]);
});

test("a node whose terminal is gone still finishes what is under way", async ({ stage }) => {
  const database = await stage.database();
  const node = await stage.node({ DATABASE_URL: database.url, TIDEMILL_LOG_LEVEL: "debug" });
  const handler = await stage.handler("hang");
  const queue = await node.client.queue("mails", handler.url);
  await node.client.enqueue(queue, { attempts: 1 });
  await until(() => handler.open === 1, "the attempt to be under way");
  node.hangUp();
  node.signal("SIGTERM");
  await until(
    () =>
      node.client.status("/healthz").then(
        () => false,
        () => true,
      ),
    "the node to drain",
  );
  handler.release();
  expect(await node.end()).toEqual({ code: 0, signal: null });
  expect(await database.query("select state, attempt from job_history")).toEqual([{ state: "completed", attempt: 1 }]);
});

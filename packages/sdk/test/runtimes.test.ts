import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { readVectors } from "../../server/test/harness/vectors.ts";
import { bundleClient } from "./harness/bundle.ts";
import { test } from "./harness/live.ts";

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** Programs of npm packages: Node 20 is in the package's own node_modules, because the repository runs on Node 24. */
const RUNTIMES: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  "Node 20": [at("../node_modules/node/bin/node")],
  "Node 24": [process.execPath],
  Bun: [at("../../../node_modules/bun/bin/bun.exe")],
  // Only what the client and the program need.
  Deno: [at("../../../node_modules/.bin/deno"), "run", "--no-prompt", "--allow-net=127.0.0.1", "--allow-env", "--allow-read"],
};

/** A program that uses the client, and writes what came of it as JSON. */
const PROGRAM = `
import { InvalidSignatureError, Tidemill, TidemillError, verifyCallback, Worker } from "./client.js";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const free = await new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const tidemill = new Tidemill();
await tidemill.queues.create({ name: "emails" });
const queue = tidemill.queue("emails");
const enqueued = await Promise.all(Array.from({ length: 50 }, (_, n) => queue.enqueue({ n })));
const listed = [];
for await (const { payload } of queue.jobs.list({ limit: 20 })) listed.push(payload.n);
const worked = [];
const quiet = () => {};
const worker = new Worker({
  queues: { emails: ({ payload }) => worked.push(payload.n) === 50 && void worker.stop() },
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
});
await worker.run();
const notFound = await tidemill.queues.get("absent").catch((error) => error instanceof TidemillError && error.code);
const refused = await new Tidemill({ url: "http://127.0.0.1:" + free, key: "x", retryForMs: 0 }).queues.create({ name: "x" }).catch((error) => [error.code, error.neverSent]);
const timeout = await new Tidemill({ url: process.argv[2], timeoutMs: 50, retryForMs: 0 }).status().catch((error) => error.code);
const reason = new Error("The user left.");
const controller = new AbortController();
const call = tidemill.status({ signal: controller.signal });
controller.abort(reason);
const aborted = await call.catch((error) => error === reason);

const { verify } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const wrong = [];
const { now } = Date;
for (const { name, secrets, now: seconds, headers, body, valid } of verify.filter(({ secrets, body }) => secrets.length > 0 && body !== "")) {
  Date.now = () => seconds * 1000;
  const accepted = await verifyCallback({ headers, body }, secrets).then(() => true, (error) => error instanceof InvalidSignatureError ? false : String(error));
  if (accepted !== valid) wrong.push(name);
}
Date.now = now;
process.stdout.write(JSON.stringify({ ids: new Set(enqueued.map(({ id }) => id)).size, listed, worked: worked.length, notFound, refused, timeout, aborted, wrong }));
`;

let directory: string;
let bundle: Awaited<ReturnType<typeof bundleClient>>;

beforeAll(async () => {
  bundle = await bundleClient();
  directory = mkdtempSync(path.join(tmpdir(), "tidemill-client-"));
  writeFileSync(path.join(directory, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(directory, "client.js"), bundle.code);
  writeFileSync(path.join(directory, "program.js"), PROGRAM);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("the client's bundle", () => {
  test("it imports nothing, and contains only the client, and what the contract says of limits, journals, signatures and checks", () => {
    const foreign = bundle.modules.filter((id) => !id.includes("/packages/sdk/src/"));
    const names = foreign.map((id) => id.split("/packages/")[1]);
    const subpaths = ["journal", "limits", "signing", "workflow-check"];
    expect(names.sort()).toEqual(subpaths.map((name) => `contract/src/${name}.ts`));
    expect(bundle.imports).toEqual([]);
  });

  test("it is small", () => {
    expect(gzipSync(bundle.code).length).toBeLessThan(46 * 1024);
  });
});

describe("the client runs on", () => {
  test.for(Object.entries(RUNTIMES))("%s", async ([, [command, ...args]], { live, silent }) => {
    const vectors = at("../../contract/vectors/signatures.json");
    const { stdout } = await promisify(execFile)(command, [...args, path.join(directory, "program.js"), silent, vectors], {
      env: { PATH: process.env.PATH ?? "", TIDEMILL_URL: live.url, TIDEMILL_KEY: live.key },
    });
    expect(JSON.parse(stdout)).toEqual({
      ids: 50,
      listed: Array.from({ length: 50 }, (_, n) => 49 - n),
      worked: 50,
      notFound: "NOT_FOUND",
      refused: ["NO_RESPONSE", true],
      timeout: "TIMEOUT",
      aborted: true,
      wrong: [],
    });
    expect(readVectors("signatures").verify.length).toBeGreaterThan(50);
  });
});

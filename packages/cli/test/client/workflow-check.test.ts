import { spawn, spawnSync } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Tidemill, Worker } from "@tidemill/sdk";
import { expect, vi } from "vitest";
import { FaultyProxy } from "../../../sdk/test/harness/faulty-proxy.ts";
import { until } from "../../../server/test/harness/service.ts";
import { loadWorkflows } from "../../src/workflow/load-workflows.ts";
import { workflows as begun } from "./builds/before.ts";
import { test as base } from "./client.ts";

const pathOf = (name: string) => fileURLToPath(new URL(`builds/${name}`, import.meta.url));
const PROGRAM = ["--conditions=source", fileURLToPath(new URL("../../src/tidemill.ts", import.meta.url))];
const quiet = () => {};

/** A run of each workflow, which the build "before" has begun and which waits for the next day. */
const test = base.extend("inFlight", async ({ service }) => {
  const client = new Tidemill({ url: service.node.url, key: service.key });
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const worker = new Worker({ url: service.node.url, key: service.key, workflows: begun, signals: [], logger });
  const running = worker.run();
  const begin = async (id: string) => {
    await until(() => client.workflows.get(id).then(Boolean, () => false), `${id} to be registered`);
    return (await client.workflows.trigger(id, { input: { userId: "u1" } })).runIds[0] ?? "";
  };
  const [onboard, ask] = [await begin("onboard"), await begin("ask")];
  await until(async () => (await client.runs.get(ask)).status === "waiting", "ask to wait");
  await service.advance(3_601);
  await until(async () => (await client.runs.get(ask)).status === "sleeping", "ask to sleep");
  await until(async () => (await client.runs.get(onboard)).status === "sleeping", "onboard to sleep");
  await worker.stop();
  await running;
  return { onboard, ask };
});

test("workflow check passes for the code that has begun the runs", async ({ command, inFlight: _runs }) => {
  expect(await command.run("workflow", "check", pathOf("before.ts"))).toEqual({
    code: 0,
    stdout: "",
    stderr: "tidemill: 2 runs checked, 0 would not fit.\n",
  });
});

test("workflow check lists runs that new code would not fit, and exits with 1", async ({ command, inFlight: { onboard } }) => {
  const { code, stdout } = await command.run("workflow", "check", pathOf("after.ts"), "--json");
  expect(JSON.parse(stdout)).toEqual({
    runs: 2,
    unfit: [
      {
        run: onboard,
        workflow: "onboard",
        version: "1",
        step: "load user",
        reason: expect.stringContaining('The journal has step "load user", but the code does not reach it.'),
      },
    ],
  });
  expect(code).toBe(1);
  expect((await command.run("workflow", "check", pathOf("after.ts"))).stdout).toContain(onboard);
});

test.for([
  ["absent.ts", "could not be loaded"],
  ["../client.ts", "exports no workflow"],
] as const)("workflow check of %s says that it %s", async ([file, says], { command }) => {
  expect(await command.run("workflow", "check", pathOf(file))).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining(says),
  });
});

test.for([
  ["starts.ts", "starts a worker", "no worker starts"],
  ["registers.ts", "registers a handler", "no workflow is registered"],
] as const)(
  "workflow check of %s, which %s, says that it only loads the module",
  async ([file, , says], { command, inFlight: _runs, service }) => {
    const { workflows } = new Tidemill({ url: service.node.url, key: service.key });
    const before = await workflows.get("onboard");
    expect(await command.run("workflow", "check", pathOf(file))).toEqual({
      code: 1,
      stdout: "",
      stderr: `tidemill: ${pathOf(file)} could not be loaded: tidemill workflow check only loads this module, so ${says}. Do this in another module, or behind if (import.meta.main).\n`,
    });
    expect(await workflows.get("onboard")).toEqual(before);
  },
);

test("workflow check says that a module is still loading", async ({ onTestFinished }) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(globalThis, { slowIsLoaded: promise });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, "slowIsLoaded"));
  const onSlow = vi.fn(() => resolve());
  const loading = loadWorkflows(pathOf("slow.ts"), onSlow);
  vi.advanceTimersByTime(5_000);
  expect((await loading).workflows).toHaveLength(1);
  expect(onSlow).toHaveBeenCalledOnce();
});

test("workflow check of code that ends the process does not pass", ({ command: { environment } }) => {
  const { status, stderr } = spawnSync(process.execPath, [...PROGRAM, "workflow", "check", pathOf("ends.ts")], {
    env: { ...process.env, ...environment },
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining("the code ended the process before its runs were checked")]);
});

/** Fills a pipe, and leaves less to be written than a stream takes before it asks its writer to wait. */
const MANY_RUNS = 360;

test.for([
  ["has gone", ":", 0],
  ["is slow", "cat", MANY_RUNS],
] as const)(
  "workflow check says what it has found when the reader of its output %s",
  async ([, read, lines], { command, service, inFlight, onTestFinished }) => {
    const proxy = await FaultyProxy.to(service.node.url);
    onTestFinished(() => proxy.close());
    const { data } = await new Tidemill({ url: service.node.url, key: service.key }).workflows.journals("onboard");
    const journals = { data: Array(MANY_RUNS).fill(data.find(({ runId }) => runId === inFlight.onboard)), next_cursor: null };
    proxy.faultOf = ({ path }) =>
      path.includes("/onboard/journals")
        ? { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(journals) }
        : null;
    // The reader begins when the command has printed all, and is told so.
    const script = `{ "$0" "$@"; echo "code $?" >&2; } | { read -r _ <&3; ${read}; }`;
    const child = spawn("sh", ["-c", script, process.execPath, ...PROGRAM, "workflow", "check", pathOf("after.ts"), "--url", proxy.url], {
      env: { ...process.env, ...command.environment },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    const [stdout, stderr, go] = child.stdio.slice(1) as [Readable, Readable, Writable];
    stderr.once("data", () => go.end("\n"));
    const [printed, said] = await Promise.all([text(stdout), text(stderr)]);
    expect(said).toBe(`tidemill: ${MANY_RUNS + 1} runs checked, ${MANY_RUNS} would not fit.\ncode 1\n`);
    expect(printed.split("\n").filter((line) => line.startsWith("run_"))).toHaveLength(lines);
  },
);

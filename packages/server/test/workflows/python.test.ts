import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Run } from "@tidemill/contract";
import { describe, expect, onTestFinished } from "vitest";
import { RecordingProxy } from "../harness/recording-proxy.ts";
import { RunProtocolSchema } from "../harness/run-protocol.ts";
import { type Service, test, until } from "../harness/service.ts";

const EXAMPLES = fileURLToPath(new URL("../../../../examples/workflows/", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const schema = new RunProtocolSchema();

/** A Python program of `examples/workflows`, or one given as code, as a process of its own. */
class PythonWorker {
  readonly #child: ChildProcess;
  output = "";

  constructor(args: readonly string[], url: string, key: string) {
    this.#child = spawn("python3", ["-B", ...args], {
      cwd: EXAMPLES,
      env: { PATH: process.env.PATH ?? "", TIDEMILL_URL: url, TIDEMILL_KEY: key },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    onTestFinished(async () => void (await this.end("SIGKILL")));
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Returns its exit code; null if the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.hasEnded) {
      // Its last output comes after its exit.
      const exited = once(this.#child, "close");
      this.#child.kill(signal);
      await exited;
    }
    return this.#child.exitCode;
  }
}

/** Starts a worker whose calls are checked when the test ends. */
async function start(service: Service, args: readonly string[]): Promise<PythonWorker> {
  const proxy = await RecordingProxy.to(service.node.url);
  onTestFinished(() => proxy.close());
  const { key } = await service.ok("POST", "/v1/keys", { name: `python-${randomUUID().slice(0, 8)}`, role: "worker" });
  const worker = new PythonWorker(args, proxy.url, key);
  onTestFinished(() => {
    for (const { method, path, request, status, response } of proxy.calls)
      expect(schema.faultsOfCall(method, path, request, status, response), `${method} ${path}`).toEqual([]);
  });
  return worker;
}

async function trigger(service: Service, worker: PythonWorker, input: unknown): Promise<string> {
  const isThere = async () => worker.hasEnded || (await service.api("GET", "/v1/workflows/user.onboard")).status === 200;
  await until(isThere, "the workflow to be registered");
  expect(worker.output, "what the worker wrote").toBe("");
  return (await service.ok("POST", "/v1/workflows/user.onboard/trigger", { input })).runIds[0];
}

const getRun = (service: Service, runId: string): Promise<Run> => service.ok("GET", `/v1/runs/${runId}`);

const untilStatus = (service: Service, worker: PythonWorker, runId: string, status: string) =>
  until(async () => (await getRun(service, runId)).status === status, `the run to be ${status}`).catch((error: Error) => {
    throw new Error(`${error.message} The worker wrote:\n${worker.output}`);
  });

/** A worker of one workflow, whose body this is. */
const program = (body: string): readonly string[] => [
  "-c",
  `
import os
from tidemill_worker import StepError, Worker

worker = Worker(os.environ["TIDEMILL_URL"], os.environ["TIDEMILL_KEY"])
failures = []

@worker.workflow("user.onboard", attempts=2, backoff={"type": "exponential", "delay": 10})
def onboard(data, step):
${body.trimEnd().replaceAll(/^/gm, "    ")}

worker.work()`,
];

describe.skipIf(!hasPython)(
  `a client in Python follows docs/run-protocol.md${hasPython ? "" : " (skipped: python3 is not on this machine)"}`,
  () => {
    test("and runs two steps with a sleep between them, in two processes", async ({ service }) => {
      const first = await start(service, ["onboard.py"]);
      const runId = await trigger(service, first, { name: "Ada" });
      await untilStatus(service, first, runId, "sleeping");
      expect(await first.end("SIGTERM")).toBe(0);
      expect(first.output).toBe("An account for Ada.\n");

      const second = await start(service, ["onboard.py"]);
      await service.advance(86_400);
      await untilStatus(service, second, runId, "completed");
      expect(second.output).toBe("A mail with tips to ada@example.com.\n");
      expect(await getRun(service, runId)).toMatchObject({
        attempt: 1,
        result: { sent: "ada@example.com" },
        steps: [
          { key: "create account", type: "run", status: "completed", output: { email: "ada@example.com" } },
          { key: "a day", type: "sleep", status: "completed" },
          { key: "send tips", type: "run", status: "completed", output: { sent: "ada@example.com" } },
        ],
      });
      expect(await second.end("SIGTERM")).toBe(0);
    });

    test("and stores a failure that the workflow catches, and tries again after one that it does not", async ({ service }) => {
      const worker = await start(
        service,
        program(`
try:
    step.run("greet", lambda: {}["name"])
except StepError as error:
    caught = error.name

def charge():
    failures.append(1)
    if len(failures) == 1:
        raise RuntimeError("Declined.")
    return len(failures)

return [caught, step.run("charge", charge), step.run("charge", charge)]`),
      );
      const runId = await trigger(service, worker, null);
      await until(async () => (await getRun(service, runId)).attempt === 2, "the first attempt to fail");
      await service.advance(1);
      await untilStatus(service, worker, runId, "completed");
      expect(await getRun(service, runId)).toMatchObject({
        result: ["KeyError", 2, 3],
        steps: [{ key: "greet", status: "failed", error: { name: "KeyError" } }, { key: "charge" }, { key: "charge:2" }],
      });
    });

    test("and reports a journal that does not fit, whose run waits for other code", async ({ service }) => {
      const before = await start(service, program('step.run("load", lambda: 1)\nstep.sleep("nap", 60)'));
      const runId = await trigger(service, before, null);
      await untilStatus(service, before, runId, "sleeping");
      expect(await before.end("SIGTERM")).toBe(0);
      const after = await start(service, program('step.sleep("nap", 60)'));
      await service.advance(61);
      await untilStatus(service, after, runId, "waiting");
      const reason = 'The journal has step "load", but the code does not reach it.';
      expect(await getRun(service, runId)).toMatchObject({ attempt: 1, waitingFor: [{ type: "code", step: "load", reason }] });
      expect(await after.end("SIGTERM")).toBe(0);
    });

    test("and waits for a signal that it has registered, and sends an event", async ({ service }) => {
      const worker = await start(
        service,
        program(`
asked = step.signal("ask", f"approve.{data['id']}")
answer = step.wait_for_signal("approval", asked["signal"], 3600)
return [answer, step.send_event("tell", "user.onboarded", data)["runIds"]]`),
      );
      const runId = await trigger(service, worker, { id: "u1" });
      await untilStatus(service, worker, runId, "waiting");
      await service.ok("POST", "/v1/signals/approve.u1/complete", { ok: true });
      await untilStatus(service, worker, runId, "completed");
      expect((await getRun(service, runId)).result).toEqual([{ ok: true }, []]);
    });

    test("and fails a run for good whose result is refused, or whose caught failure it raises again", async ({ service }) => {
      const worker = await start(
        service,
        program(`
if data == "large":
    return "x" * 2_000_000
try:
    step.run("charge", lambda: 1 / 0)
except StepError as error:
    step.run("tell", lambda: None)
    raise error`),
      );
      const large = await trigger(service, worker, "large");
      await untilStatus(service, worker, large, "failed");
      expect(await getRun(service, large)).toMatchObject({ attempt: 1, error: { name: "PAYLOAD_TOO_LARGE" } });
      const [raised] = (await service.ok("POST", "/v1/workflows/user.onboard/trigger", {})).runIds;
      await untilStatus(service, worker, raised, "failed");
      expect(await getRun(service, raised)).toMatchObject({ attempt: 1, error: { name: "ZeroDivisionError" } });
    });
  },
);

import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Logger, Tidemill, Worker } from "@tidemill/sdk";
import { findService } from "./service.ts";
import { signUpWorkflows } from "./sign-up.ts";

const HELP = `Runs a sign-up as a durable workflow: steps, a signal that you complete from another terminal, a sleep, a workflow that it invokes,
and an event that starts another one. While the run waits for you, its worker is replaced by another one.

  npm run demo -- workflow [--name NAME]

  --name NAME  who signs up (default Ada)

It uses or starts a service as the demo of callbacks does.
`;

const POLL_EVERY_MS = 100;
const ENDED = new Set(["completed", "failed", "cancelled"]);

class Interrupted extends Error {}

const print = (line = "") => process.stdout.write(`${line}\n`);
const quiet = () => {};
const warn = (message: string) => void process.stderr.write(`${message}\n`);
const logger: Logger = { debug: quiet, info: quiet, warn, error: warn };

const name = readName();
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => ending.abort(new Interrupted("Stopped.")));

const cleanup: (() => Promise<unknown>)[] = [];
try {
  process.exitCode = (await run()) ? 0 : 1;
} catch (error) {
  const { reason } = ending.signal;
  print(
    reason instanceof Interrupted ? "\n  Stopped.\n" : `\n  The demo failed: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = reason instanceof Interrupted ? 130 : 1;
} finally {
  for (const step of cleanup.reverse()) await step().catch((error: unknown) => print(`  Cleanup failed: ${String(error)}`));
}
process.exit();

/** Returns whether the sign-up was confirmed, and each step was executed once. */
async function run(): Promise<boolean> {
  print();
  const service = await findService(process.env);
  cleanup.push(() => service.stop());
  for (const line of service.about) print(`  ${line}`);
  ending.signal.throwIfAborted();

  const executed: string[] = [];
  let worker: Worker | null = null;
  const report = (what: string) => {
    executed.push(what);
    print(`  ${worker?.name} ${what}`);
  };
  const suffix = `${process.pid}_${process.hrtime.bigint().toString(36)}`;
  const { signedUp, workflows } = signUpWorkflows(suffix, report, (signal) => print(`\n${howToConfirm(signal, service)}\n`));
  const startWorker = (called: string): Worker => {
    const started = new Worker({ url: service.url, key: service.key, workflows, name: called, signals: [], logger });
    started.run().catch((error: unknown) => ending.abort(error));
    cleanup.push(() => started.stop());
    return started;
  };

  const tidemill = new Tidemill({ url: service.url, key: service.key });
  for (const { id } of workflows) cleanup.push(() => tidemill.workflows.delete(id));
  worker = startWorker("worker-1");
  for (const { id } of workflows) await until(() => tidemill.workflows.get(id).then(Boolean, () => false));

  const [runId = ""] = (await tidemill.events.send(signedUp, { name })).runIds;
  print(`  ${name} signs up. The event started the run ${runId}.\n`);
  await until(async () => (await tidemill.runs.get(runId)).status === "waiting");
  await worker.stop();
  worker = startWorker("worker-2");
  print("  The run waits for the signal. worker-1 has stopped, and worker-2 has taken its place.\n");

  const ended = await untilEnded(tidemill, runId);
  const { started = [] } = (ended.result ?? {}) as { started?: readonly string[] };
  for (const other of started) await untilEnded(tidemill, other);
  print("\n  The journal of the run:\n");
  for (const { key, type, status } of ended.steps) print(`    ${key.padEnd(20)} ${type.padEnd(7)} ${status}`);
  print(`\n  The run is ${ended.status}: ${JSON.stringify(ended.result ?? ended.error)}`);
  if (ended.status !== "completed" || started.length !== 1) print("  The sign-up was not confirmed.\n");
  else if (new Set(executed).size < executed.length) print(`  A step was executed twice: ${executed.join(", ")}.\n`);
  else {
    print("  Each step was executed once, by two workers.\n");
    return true;
  }
  return false;

  async function untilEnded(client: Tidemill, id: string) {
    await until(async () => ENDED.has((await client.runs.get(id)).status));
    return client.runs.get(id);
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(POLL_EVERY_MS, undefined, { signal: ending.signal });
}

/** A key that the demo did not create is not shown. */
function howToConfirm(signal: string, { url, key }: { readonly url: string; readonly key: string }): string {
  const shownKey = process.env.TIDEMILL_KEY ? '"$TIDEMILL_KEY"' : key;
  return [
    "  Confirm from another terminal, within 10 minutes:",
    "",
    `    TIDEMILL_URL=${url} TIDEMILL_KEY=${shownKey} npm run --silent tidemill -- signal complete ${signal} '{"ok":true}'`,
  ].join("\n");
}

function readName(): string {
  try {
    const { values } = parseArgs({ options: { name: { type: "string", default: "Ada" }, help: { type: "boolean", short: "h" } } });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    if (values.name.trim() === "") throw new Error("--name must not be empty.");
    return values.name;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

import { setTimeout as wait } from "node:timers/promises";
import { Client } from "./client.ts";
import { type Acknowledged, enqueueAll } from "./enqueue.ts";
import { Handler } from "./handler.ts";
import { readOptions } from "./options.ts";
import { count, Progress, quantile } from "./progress.ts";
import { findFaults, type JobRecord, latenciesOf, summarise } from "./report.ts";
import { findService } from "./service.ts";

const POLL_EVERY_MS = 100;
/** The demo fails when nothing has changed for this long. */
const MAX_STALL_MS = 30_000;

interface Metrics {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly completed: number;
  readonly failed: number;
}

class Interrupted extends Error {}

const options = readOptions();
const handler = new Handler();
const acknowledged = new Map<string, Acknowledged>();
const ending = new AbortController();
const cleanup: (() => Promise<unknown>)[] = [];

const print = (line = "") => process.stdout.write(`${line}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (ending.signal.aborted) process.exit(130);
    ending.abort(new Interrupted());
  });
}

try {
  process.exitCode = (await run()) ? 0 : 1;
} catch (error) {
  const interrupted = ending.signal.aborted && ending.signal.reason instanceof Interrupted;
  print(interrupted ? "\n  Stopped.\n" : `\n  The demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = interrupted ? 130 : 1;
} finally {
  ending.abort();
  for (const step of cleanup.reverse()) await step().catch((error: unknown) => print(`  Cleanup failed: ${String(error)}`));
}
// Kept-alive connections would keep the process running.
process.exit();

/** Runs the whole demo. Returns whether every check passed. */
async function run(): Promise<boolean> {
  print();
  const service = await findService(process.env);
  cleanup.push(() => service.stop());
  for (const line of service.about) print(`  ${line}`);
  ending.signal.throwIfAborted();

  await handler.listen(options.host);
  cleanup.push(() => handler.close());
  const client = new Client(service.url, service.key);
  const queue = `demo-${process.pid}-${process.hrtime.bigint().toString(36)}`;
  const { callback_secret } = await client.call<{ callback_secret: string }>("POST", "/v1/queues", {
    name: queue,
    callback_url: handler.url,
    defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 200 } },
  });
  handler.secret = callback_secret;
  cleanup.push(() => client.call("DELETE", `/v1/queues/${queue}`));
  const pace = options.rate > 0 ? `, ${count(options.rate)} per second,` : "";
  print(`  Enqueueing ${count(options.jobs)} jobs${pace} for the handler at ${handler.url}\n`);

  const startedMs = performance.now();
  const enqueued = enqueueAll(client, queue, options, acknowledged, ending.signal);
  // Cleanup waits for requests in progress.
  cleanup.push(() => enqueued.catch(() => {}));
  await watch(client, queue, enqueued, startedMs);
  const tookMs = performance.now() - startedMs;
  const outcome = { jobs: options.jobs, acknowledged, handler, records: await listAll(client, queue), tookMs };
  const faults = findFaults(outcome);
  process.stdout.write(summarise(outcome, faults));
  return faults.length === 0;
}

/** Shows progress until every job has finished. */
async function watch(client: Client, queue: string, enqueued: Promise<void>, startedMs: number): Promise<void> {
  const progress = new Progress(process.stdout, options.jobs);
  let allEnqueued = false;
  let moved = { sum: -1, atMs: startedMs };
  for (;;) {
    const { metrics } = await client.call<{ metrics: Metrics }>("GET", `/v1/queues/${queue}`);
    const { waiting, delayed, active, completed, failed } = metrics;
    const latencies = latenciesOf({ acknowledged, handler });
    const perSecond = (handler.arrivals.length * 1000) / (performance.now() - startedMs);
    const speeds = { perSecond, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
    progress.show({ waiting: waiting + delayed, inFlight: active, done: completed, failed, ...speeds });
    if (allEnqueued && completed + failed >= acknowledged.size) return;

    const sum = acknowledged.size + handler.arrivals.length + handler.refused.length + completed + failed;
    if (sum !== moved.sum) moved = { sum, atMs: performance.now() };
    if (performance.now() - moved.atMs > MAX_STALL_MS)
      throw new Error(`no progress for 30 s. The queue's metrics: ${JSON.stringify(metrics)}.`);
    const pause = wait(POLL_EVERY_MS, undefined, { signal: ending.signal });
    // Ends when the pause is over, when all jobs are enqueued, when enqueueing fails, or on a signal.
    if (allEnqueued) await pause;
    else await Promise.race([pause, enqueued.then(() => (allEnqueued = true))]);
  }
}

async function listAll(client: Client, queue: string): Promise<JobRecord[]> {
  const records: JobRecord[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const at: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page: { data: JobRecord[]; next_cursor: string | null } = await client.call("GET", `/v1/queues/${queue}/jobs?limit=100${at}`);
    records.push(...page.data);
    cursor = page.next_cursor;
  }
  return records;
}

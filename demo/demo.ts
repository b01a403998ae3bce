import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ApiError, Client } from "./client.ts";
import { type Arrival, Handler } from "./handler.ts";
import { count, milliseconds, Progress, quantile } from "./progress.ts";
import { findService } from "./service.ts";

const HELP = `Enqueues jobs, takes their callbacks, and checks that every job that was acknowledged came and completed.

  npm run demo -- [--jobs N] [--rate N] [--host ADDRESS]

  --jobs N        how many jobs (1000)
  --rate N        jobs per second; 0 is as fast as it goes (0)
  --host ADDRESS  where the demo's handler listens; the service must reach it (127.0.0.1)

TIDEMILL_URL and TIDEMILL_KEY name a service to use. Without them the demo uses the one that runs at TIDEMILL_PORT,
or starts one for the while.
`;

const ENQUEUERS = 32;
const LOOK_EVERY_MS = 100;
/** Nothing moved for this long: nothing will. */
const MOST_STALL_MS = 30_000;

interface Metrics {
  readonly waiting: number;
  readonly delayed: number;
  readonly active: number;
  readonly completed: number;
  readonly failed: number;
}

interface JobRecord {
  readonly id: string;
  readonly state: string;
  readonly payload: unknown;
  readonly last_error: { readonly code: string; readonly message: string } | null;
}

/** A job that the service has acknowledged, with when its request left. */
interface Sent {
  readonly payload: { readonly n: number; readonly text: string };
  readonly atMs: number;
}

class Interrupted extends Error {}

const { jobs, rate, host } = readOptions();
const say = (line = "") => process.stdout.write(`${line}\n`);
const interrupt = new AbortController();
process.on("SIGINT", () => (interrupt.signal.aborted ? process.exit(130) : interrupt.abort(new Interrupted())));
process.on("SIGTERM", () => (interrupt.signal.aborted ? process.exit(143) : interrupt.abort(new Interrupted())));

const handler = new Handler();
const undo: (() => Promise<unknown>)[] = [];
try {
  process.exitCode = (await run()) ? 0 : 1;
} catch (error) {
  const interrupted = error instanceof Interrupted;
  say(interrupted ? "\n  Stopped." : `\n  The demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = interrupted ? 130 : 1;
} finally {
  for (const step of undo.reverse()) await step().catch((error: unknown) => say(`  Cleaning up: ${String(error)}`));
}
// A connection that is kept alive must not keep the demo.
process.exit();

/** The whole demo. Answers whether all went as it must. */
async function run(): Promise<boolean> {
  say();
  const service = await findService(process.env);
  undo.push(() => service.stop());
  for (const line of service.about) say(`  ${line}`);

  await handler.listen(host);
  undo.push(() => handler.close());
  const client = new Client(service.url, service.key);
  const queue = `demo-${process.pid}-${process.hrtime.bigint().toString(36)}`;
  const created = await client.call<{ callback_secret: string }>("POST", "/v1/queues", {
    name: queue,
    callback_url: handler.url,
    defaultJobOptions: { attempts: 3, backoff: { type: "exponential", delay: 200 } },
  });
  handler.secret = created.callback_secret;
  undo.push(() => client.call("DELETE", `/v1/queues/${queue}`));
  say(`  ${count(jobs)} jobs${rate > 0 ? `, ${count(rate)} a second,` : ""} to the handler at ${handler.url}`);
  say();

  const startedMs = performance.now();
  const acknowledged = new Map<string, Sent>();
  const enqueued = enqueueAll(client, queue, acknowledged);
  const metrics = await watch(client, queue, acknowledged, enqueued, startedMs);
  const tookMs = performance.now() - startedMs;
  return report(await listAll(client, queue), acknowledged, metrics, tookMs);
}

/** Enqueues one by one, many at a time; with a rate each job has its moment. */
async function enqueueAll(client: Client, queue: string, acknowledged: Map<string, Sent>): Promise<void> {
  const startedMs = performance.now();
  let next = 0;
  const enqueueNext = async () => {
    while (next < jobs && !interrupt.signal.aborted) {
      const n = next++;
      const dueMs = rate > 0 ? startedMs + (n * 1000) / rate : 0;
      if (dueMs > performance.now()) await wait(dueMs - performance.now());
      const payload = { n, text: `job ${n} — ünïcödé "quoted"` };
      const atMs = performance.now();
      const { id } = await client.call<{ id: string }>("POST", `/v1/queues/${queue}/jobs`, { payload });
      acknowledged.set(id, { payload, atMs });
    }
  };
  await Promise.all(Array.from({ length: ENQUEUERS }, enqueueNext));
}

/** Shows how it goes until every job has ended. */
async function watch(
  client: Client,
  queue: string,
  acknowledged: Map<string, Sent>,
  enqueued: Promise<void>,
  startedMs: number,
): Promise<Metrics> {
  const progress = new Progress(process.stdout, jobs);
  let allEnqueued = false;
  // Its failure is met by the race below; this keeps it from being reported as nobody's.
  enqueued.then(() => (allEnqueued = true)).catch(() => {});
  let moved = { sum: -1, atMs: performance.now() };
  for (;;) {
    interrupt.signal.throwIfAborted();
    const isLast = allEnqueued;
    const { metrics } = await client.call<{ metrics: Metrics }>("GET", `/v1/queues/${queue}`);
    const { waiting, delayed, active, completed, failed } = metrics;
    const latencies = latenciesOf(acknowledged);
    const perSecond = (handler.arrivals.length * 1000) / (performance.now() - startedMs);
    const speeds = { perSecond, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
    progress.show({ waiting: waiting + delayed, inFlight: active, done: completed, failed, ...speeds });
    if (isLast && completed + failed >= acknowledged.size) return metrics;
    const sum = acknowledged.size + handler.arrivals.length + handler.refused.length + completed + failed;
    if (sum !== moved.sum) moved = { sum, atMs: performance.now() };
    if (performance.now() - moved.atMs > MOST_STALL_MS) throw new Error(`Nothing moved for ${MOST_STALL_MS / 1000} s: ${JSON.stringify(metrics)}`);
    await Promise.race([wait(LOOK_EVERY_MS, undefined, { signal: interrupt.signal }).catch(() => {}), allEnqueued ? wait(LOOK_EVERY_MS) : enqueued]);
  }
}

/** From sending the request to the arrival of the first callback. Milliseconds. */
function latenciesOf(acknowledged: ReadonlyMap<string, Sent>): number[] {
  return firstArrivals().flatMap(({ id, atMs }) => {
    const sent = acknowledged.get(id);
    return sent ? [atMs - sent.atMs] : [];
  });
}

const firstArrivals = (): Arrival[] => [...new Map(handler.arrivals.toReversed().map((arrival) => [arrival.id, arrival])).values()];

async function listAll(client: Client, queue: string): Promise<JobRecord[]> {
  const records: JobRecord[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: JobRecord[]; next_cursor: string | null } = await client.call(
      "GET",
      `/v1/queues/${queue}/jobs?limit=100${cursor === null ? "" : `&cursor=${cursor}`}`,
    );
    records.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return records;
}

/** Compares what was acknowledged with what arrived and with what the service says of it. */
function report(records: readonly JobRecord[], acknowledged: ReadonlyMap<string, Sent>, metrics: Metrics, tookMs: number): boolean {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const byId = new Map(records.map((record) => [record.id, record]));
  const arrivals = firstArrivals();
  const arrived = new Map(arrivals.map((arrival) => [arrival.id, arrival]));
  const problems: string[] = [];
  const expect = (wrong: number, what: string) => {
    if (wrong > 0) problems.push(`${count(wrong)} ${what}`);
  };
  const known = [...acknowledged];
  expect(jobs - acknowledged.size, "jobs were not acknowledged");
  expect(known.filter(([id]) => byId.get(id)?.state !== "completed").length, "acknowledged jobs did not complete");
  expect(known.filter(([id]) => !arrived.has(id)).length, "acknowledged jobs never reached the handler");
  expect(known.filter(([id, { payload }]) => byId.has(id) && !same(byId.get(id)?.payload, payload)).length, "jobs are stored with another payload");
  expect(known.filter(([id, { payload }]) => arrived.has(id) && !same(arrived.get(id)?.payload, payload)).length, "jobs came with another payload");
  expect(arrivals.filter(({ id }) => !acknowledged.has(id)).length, "jobs came that were not acknowledged");
  expect(metrics.completed - acknowledged.size, "more jobs completed than were acknowledged");
  expect(handler.refused.length, `signatures were wrong: ${[...new Set(handler.refused)].join(", ")}`);

  const latencies = latenciesOf(acknowledged);
  const again = handler.arrivals.length - arrivals.length;
  say();
  say(`  acknowledged  ${count(acknowledged.size)}`);
  say(`  completed     ${count(metrics.completed)} in ${(tookMs / 1000).toFixed(2)} s, ${count(Math.round((metrics.completed * 1000) / tookMs))}/s`);
  say(`  latency       p50 ${milliseconds(quantile(latencies, 0.5))}, p99 ${milliseconds(quantile(latencies, 0.99))}, from enqueue to handler`);
  say(`  signatures    ${count(handler.arrivals.length)} right, ${count(handler.refused.length)} wrong`);
  if (again > 0) say(`  came again    ${count(again)}, which at-least-once delivery allows`);
  say();
  for (const problem of problems) say(`  Wrong: ${problem}.`);
  for (const why of reasonsOf(records)) say(`  Why: ${why}`);
  say(problems.length === 0 ? "  Every job completed as it was acknowledged, and every signature was right." : "  The demo failed.");
  say();
  return problems.length === 0;
}

/** Why jobs failed, each reason once. */
function reasonsOf(records: readonly JobRecord[]): string[] {
  const errors = records.flatMap(({ state, last_error }) => (state === "failed" && last_error ? [last_error] : []));
  return [...Map.groupBy(errors, ({ code, message }) => `${code}: ${message}`)].map(([why, same]) => {
    const hint = same[0]?.code === "BLOCKED_ADDRESS" ? ` The service may not call ${handler.url}: start it with TIDEMILL_ALLOW_ADDRESSES=${host}.` : "";
    return `${why} (${count(same.length)} jobs)${hint}`;
  });
}

function readOptions(): { jobs: number; rate: number; host: string } {
  try {
    const { values } = parseArgs({
      options: {
        jobs: { type: "string", default: "1000" },
        rate: { type: "string", default: "0" },
        host: { type: "string", default: "127.0.0.1" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit(0);
    }
    const whole = (name: string, text: string, least: number) => {
      if (!/^\d{1,9}$/.test(text) || Number(text) < least) throw new Error(`--${name} must be a whole number of at least ${least}.`);
      return Number(text);
    };
    return { jobs: whole("jobs", values.jobs, 1), rate: whole("rate", values.rate, 0), host: values.host };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

import { parseArgs } from "node:util";
import { Tidemill, Worker, type WorkerJob } from "@tidemill/sdk";
import { count } from "./progress.ts";
import { findService } from "./service.ts";

const HELP = `Enqueues jobs, runs them in a worker, and checks that every job was run and completed.

  npm run demo -- worker [--jobs N]

  --jobs N  number of jobs (default 1000)

It uses or starts a service as the demo of callbacks does.
`;

/** The payload of a job, and what its handler returns. */
interface Greeting {
  readonly n: number;
  readonly name: string;
}

const print = (line = "") => process.stdout.write(`${line}\n`);
const jobs = readJobs();
const service = await findService(process.env);
process.exitCode = 1;
print();
for (const line of service.about) print(`  ${line}`);
const tidemill = new Tidemill({ url: service.url, key: service.key });
const queue = `demo-${process.pid}-${process.hrtime.bigint().toString(36)}`;
await tidemill.queues.create({ name: queue });
try {
  print((await run()) ? "\n  Every job was run and completed.\n" : "\n  Not every job was completed.\n");
} finally {
  await tidemill.queues.delete(queue);
  await service.stop();
}

/** Returns whether every job was run by the worker and completed. */
async function run(): Promise<boolean> {
  const ran = new Set<number>();
  const all = Promise.withResolvers<void>();
  const worker = new Worker({
    url: service.url,
    key: service.key,
    queues: {
      [queue]: ({ payload }: WorkerJob<Greeting>) => {
        ran.add(payload.n);
        if (ran.size === jobs) all.resolve();
        return { greeting: `Hello, ${payload.name}!` };
      },
    },
    concurrency: 100,
  });
  const running = worker.run();
  running.catch(all.reject);
  print(`  Enqueueing ${count(jobs)} jobs for the worker ${worker.name}\n`);
  const startedMs = performance.now();
  const greetings = tidemill.queue<Greeting>(queue);
  await Promise.all(Array.from({ length: jobs }, (_, n) => greetings.enqueue({ n, name: `Ada ${n}` })));
  const enqueuedMs = performance.now() - startedMs;
  await all.promise;
  const tookMs = performance.now() - startedMs;
  // With the outcomes of the last jobs.
  await worker.stop();
  const { metrics } = await tidemill.queues.get(queue);
  print(`  enqueued   ${count(jobs)} in ${(enqueuedMs / 1000).toFixed(2)} s`);
  print(`  completed  ${count(metrics.completed)} in ${(tookMs / 1000).toFixed(2)} s, ${count(Math.round((jobs * 1000) / tookMs))}/s`);
  const passed = ran.size === jobs && metrics.completed === jobs;
  process.exitCode = passed ? 0 : 1;
  return passed;
}

function readJobs(): number {
  const { values } = parseArgs({ options: { jobs: { type: "string", default: "1000" }, help: { type: "boolean", short: "h" } } });
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  if (/^[1-9]\d{0,6}$/.test(values.jobs)) return Number(values.jobs);
  process.stderr.write(`--jobs must be a whole number from 1 to 9999999.\n\n${HELP}`);
  process.exit(2);
}

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type Figure, quantile } from "../table.ts";
import { JOB, type Yard } from "../yard.ts";

const PER_SECOND = 100;
const SECONDS = 10;
const BAR_P50_MS = 5;
const BAR_P99_MS = 25;

/** From the 2xx of an enqueue to the first byte at the handler, at 100 jobs a second; earlier than the 2xx counts as zero. */
export async function latency(yard: Yard): Promise<Figure[]> {
  const node = await yard.node();
  const arrived = new Map<string, number>();
  const server = createServer((request, response) => {
    arrived.set(String(request.headers["x-service-job-id"]), performance.now());
    request.resume();
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const queue = yard.queueName();
  await node.api("POST", "/v1/queues", { name: queue, callback_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  const answered = new Map<string, number>();
  const enqueue = async () => {
    const job = await node.api<{ id: string }>("POST", `/v1/queues/${queue}/jobs`, JOB);
    answered.set(job.id, performance.now());
  };
  for (let warmUp = 0; warmUp < 50; warmUp += 1) await enqueue();
  answered.clear();
  const startedMs = performance.now();
  const under: Promise<void>[] = [];
  for (let sent = 0; sent < PER_SECOND * SECONDS; sent += 1) {
    const dueMs = startedMs + (sent * 1000) / PER_SECOND;
    if (dueMs > performance.now()) await wait(dueMs - performance.now());
    under.push(enqueue());
  }
  await Promise.all(under);
  while ([...answered.keys()].some((id) => !arrived.has(id))) await wait(10);
  server.close();
  await node.stop();
  const took = [...answered].map(([id, at]) => Math.max(0, (arrived.get(id) ?? Number.NaN) - at));
  const figure = (name: string, ms: number, bar: number): Figure => ({
    name: `enqueue (2xx) to handler at ${PER_SECOND} jobs/s, ${name}`,
    measured: `${ms.toFixed(1)} ms`,
    yardstick: "",
    ratio: "",
    bar: `≤ ${bar} ms`,
    met: ms <= bar,
  });
  return [figure("p50", quantile(took, 0.5), BAR_P50_MS), figure("p99", quantile(took, 0.99), BAR_P99_MS)];
}

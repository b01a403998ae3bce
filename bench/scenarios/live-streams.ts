import { setTimeout as wait } from "node:timers/promises";
import type { BenchNode, Environment } from "../environment.ts";
import { processorOfPostgres, processorOfProcess } from "../processor.ts";
import type { Figure } from "../table.ts";

const STREAMS = 200;
/** Longer than a heartbeat, at which streams are authenticated again. */
const SECONDS = 20;
const SETTLE_SECONDS = 3;
const BAR_CPU = 0.05;

/** What open streams of `GET /v1/live` cost while something changes every second, beside what the changes cost. */
export async function liveStreams(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const alone = await measure(environment, node, queue);
  const closing = new AbortController();
  let events = 0;
  const opened = Array.from({ length: STREAMS }, () => open(node.url, environment.key, closing.signal, () => (events += 1)));
  await Promise.all(opened);
  await wait(SETTLE_SECONDS * 1000);
  events = 0;
  const withStreams = await measure(environment, node, queue);
  closing.abort();
  await node.stop();
  const cpu = (withStreams.node - alone.node) / SECONDS;
  const postgres = (withStreams.postgres - alone.postgres) / SECONDS;
  return [
    {
      name: `${STREAMS} streams of changes, one change a second: processor`,
      measured: `${(cpu * 100).toFixed(1)} % of a core; PostgreSQL ${(postgres * 100).toFixed(1)} %; ${(events / SECONDS).toFixed(0)} events/s`,
      yardstick: "",
      ratio: "",
      bar: `≤ ${BAR_CPU * 100} %`,
      met: cpu <= BAR_CPU,
    },
  ];
}

/** The processor time that one change a second takes, in seconds. */
async function measure(environment: Environment, node: BenchNode, queue: string): Promise<{ node: number; postgres: number }> {
  const read = () => ({ node: processorOfProcess(node.peer.pid), postgres: processorOfPostgres(environment.connection.host) });
  const before = read();
  for (let second = 0; second < SECONDS; second += 1) {
    await node.api("PATCH", `/v1/queues/${queue}`, { concurrency: second + 1 });
    await wait(1_000);
  }
  const after = read();
  return { node: after.node - before.node, postgres: after.postgres - before.postgres };
}

/** Resolves when the stream is open, and counts its events. */
async function open(url: string, key: string, signal: AbortSignal, onEvent: () => void): Promise<void> {
  const response = await fetch(`${url}/v1/live`, { headers: { authorization: `Bearer ${key}` }, signal });
  if (!response.ok || !response.body) throw new Error(`GET /v1/live returned ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      if (value.includes("event: changed")) onEvent();
    }
  };
  // Ends with the abort.
  void read().catch(() => {});
}

import { BAR_SECONDS, type Burst, runBurst } from "../burst.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { PacedQueue } from "../paced.ts";
import type { Processor } from "../processor.ts";
import { type Figure, median, quantile } from "../table.ts";

const NODES = 3;
const ROUNDS = 3;
const BAR_LATENCY = 2;

/**
 * 10,000 schedules with callbacks are due at the same moment, on three nodes. Another queue gets 100 jobs a second. Its latency from
 * enqueue to handler during the burst is compared with that before.
 */
export async function schedulesBurst(environment: Environment): Promise<Figure[]> {
  const nodes = [];
  while (nodes.length < NODES) nodes.push(await environment.node(nodes.length === 0 ? profiled() : {}));
  const receiver = await environment.receiver();
  const [first] = nodes as [BenchNode, ...BenchNode[]];
  const paced = await PacedQueue.open(first, environment.queueName());
  const figures: Figure[] = [];
  for (const [kind, count] of [
    ["one queue", 1],
    ["100 queues", 100],
  ] as const) {
    const queues = Array.from({ length: count }, () => environment.queueName());
    for (const name of queues) await first.api("POST", "/v1/queues", { name, callback_url: receiver.url });
    const bursts: Burst[] = [];
    while (bursts.length < ROUNDS) bursts.push(await runBurst(environment, { nodes, receiver: receiver.peer, paced, queues }));
    figures.push(...figuresOf(kind, bursts));
  }
  paced.close();
  await Promise.all([...nodes.map((node) => node.stop()), receiver.peer.stop()]);
  return figures;
}

const profiled = (): Record<string, string> => (process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});

function figuresOf(kind: string, bursts: readonly Burst[]): Figure[] {
  const name = (what: string) => `10,000 schedules due at once, ${NODES} nodes, ${kind}: ${what}`;
  const plain = { yardstick: "", ratio: "" };
  const seconds = (what: string, of: (burst: Burst) => number): Figure => {
    const worst = Math.max(...bursts.map(of)) / 1_000;
    return {
      ...plain,
      name: name(what),
      measured: `${(median(bursts.map(of)) / 1_000).toFixed(2)} s, ${worst.toFixed(2)} s at worst`,
      bar: `≤ ${BAR_SECONDS} s`,
      met: worst <= BAR_SECONDS,
    };
  };
  const latency = (label: string, part: number): Figure => {
    const during = quantile(
      bursts.flatMap((burst) => burst.during),
      part,
    );
    const before = quantile(
      bursts.flatMap((burst) => burst.before),
      part,
    );
    return {
      name: name(`enqueue to handler of another queue, ${label}`),
      measured: `${during.toFixed(2)} ms`,
      yardstick: `${before.toFixed(2)} ms before`,
      ratio: (during / before).toFixed(2),
      bar: `≤ ${BAR_LATENCY}`,
      met: during / before <= BAR_LATENCY,
    };
  };
  const once = bursts.filter((burst) => burst.once).length;
  const cost = (of: (processor: Processor) => number) => median(bursts.map((burst) => of(burst.cost))).toFixed(0);
  return [
    seconds("all fired", ({ firedMs }) => firedMs),
    seconds("all delivered", ({ deliveredMs }) => deliveredMs),
    { ...plain, name: name("each once"), measured: `${once} of ${bursts.length} times`, bar: "always", met: once === bursts.length },
    latency("p50", 0.5),
    latency("p99", 0.99),
    {
      ...plain,
      name: name("processor per tick and its callback"),
      measured: `${cost(({ nodes }) => nodes)} µs nodes + ${cost(({ postgres }) => postgres)} µs PostgreSQL`,
      bar: "",
      met: true,
    },
  ];
}

import { BAR_SECONDS, type Herd, runHerd } from "../herd.ts";
import { PacedQueue } from "../paced.ts";
import type { Processor } from "../processor.ts";
import { type Figure, median, quantile } from "../table.ts";
import type { BenchNode, Yard } from "../yard.ts";

const NODES = 3;
const ROUNDS = 3;
const BAR_LATENCY = 2;

/**
 * 10,000 schedules due at the same moment, over three nodes, each with a callback; and beside them the way from enqueue to handler of
 * another queue's 100 jobs a second, during against before.
 */
export async function schedulesHerd(yard: Yard): Promise<Figure[]> {
  const nodes = [];
  while (nodes.length < NODES) nodes.push(await yard.node(nodes.length === 0 ? profiled() : {}));
  const receiver = await yard.receiver();
  const [first] = nodes as [BenchNode, ...BenchNode[]];
  const paced = await PacedQueue.open(first, yard.queueName());
  const figures: Figure[] = [];
  for (const [kind, count] of [
    ["one queue", 1],
    ["100 queues", 100],
  ] as const) {
    const queues = Array.from({ length: count }, () => yard.queueName());
    for (const name of queues) await first.api("POST", "/v1/queues", { name, callback_url: receiver.url });
    const herds: Herd[] = [];
    while (herds.length < ROUNDS) herds.push(await runHerd(yard, { nodes, receiver: receiver.peer, paced, queues }));
    figures.push(...figuresOf(kind, herds));
  }
  paced.close();
  await Promise.all([...nodes.map((node) => node.stop()), receiver.peer.stop()]);
  return figures;
}

const profiled = (): Record<string, string> => (process.env.BENCH_PROFILE ? { BENCH_PROFILE: process.env.BENCH_PROFILE } : {});

function figuresOf(kind: string, herds: readonly Herd[]): Figure[] {
  const name = (what: string) => `10,000 schedules due at once, ${NODES} nodes, ${kind}: ${what}`;
  const plain = { yardstick: "", ratio: "" };
  const seconds = (what: string, of: (herd: Herd) => number): Figure => {
    const worst = Math.max(...herds.map(of)) / 1_000;
    return {
      ...plain,
      name: name(what),
      measured: `${(median(herds.map(of)) / 1_000).toFixed(2)} s, ${worst.toFixed(2)} s at worst`,
      bar: `≤ ${BAR_SECONDS} s`,
      met: worst <= BAR_SECONDS,
    };
  };
  const latency = (label: string, part: number): Figure => {
    const during = quantile(
      herds.flatMap((herd) => herd.during),
      part,
    );
    const before = quantile(
      herds.flatMap((herd) => herd.before),
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
  const once = herds.filter((herd) => herd.once).length;
  const cost = (of: (processor: Processor) => number) => median(herds.map((herd) => of(herd.cost))).toFixed(0);
  return [
    seconds("all fired", ({ firedMs }) => firedMs),
    seconds("all delivered", ({ deliveredMs }) => deliveredMs),
    { ...plain, name: name("each once"), measured: `${once} of ${herds.length} times`, bar: "always", met: once === herds.length },
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

import { quantile } from "../table.ts";
import { ATTACKS } from "./attacks.ts";
import { missed, p99, refusals } from "./judge.ts";
import type { Outcome } from "./run.ts";
import { DELIVERIES, REQUESTS } from "./samples.ts";
import { memoryLimitMib } from "./settings.ts";

/** The runs as Markdown tables: the verdicts, then the neighbour's latencies. The first run is the neighbour alone. */
export function report(alone: Outcome, runs: readonly Outcome[]): string {
  const limit = memoryLimitMib();
  const all = [alone, ...runs];
  return [
    "Verdicts. Delivery and request: the neighbour's p99 of the kind that changed most, alone → during the attack.",
    table(
      [
        "attack",
        "delivery",
        "request",
        "refused",
        "charged",
        "loop late p99 / max",
        "of it held",
        `memory (≤ ${limit} MiB)`,
        "PostgreSQL",
        "",
      ],
      all.map((run) => verdict(run, alone)),
    ),
    "From the 2xx of an enqueue (delayed: from when the job is due) to the handler, p50 / p99 in ms.",
    table(
      ["attack", ...DELIVERIES],
      all.map((run) => [title(run), ...DELIVERIES.map((kind) => quantiles(run.samples.deliveries[kind]))]),
    ),
    "Requests, p50 / p99 in ms.",
    table(
      ["attack", ...REQUESTS],
      all.map((run) => [title(run), ...REQUESTS.map((kind) => quantiles(run.samples.requests[kind]))]),
    ),
  ].join("\n\n");
}

/** The responses to the attack and the logs of the nodes, for the person who waits. */
export function describe(outcome: Outcome, alone: Outcome): string {
  const { attacks, counts, nodes, samples } = outcome;
  const lines = attacks.map(({ number }, index) => `  attack ${number} was answered: ${list(counts[index] ?? {})}`);
  return [
    `  ${verdictOf(outcome, alone)}`,
    ...lines,
    ...nodes.map(({ events }, index) => `  node ${index + 1} logged: ${list(events)}`),
    ...(refusals(samples.refused) > 0 ? [`  the neighbour was refused: ${list(samples.refused)}`] : []),
  ].join("\n");
}

const title = ({ attacks }: Outcome): string => {
  const [first, second] = attacks;
  if (!first) return "none";
  if (!second) return `${first.number}: ${first.name}`;
  const numbers = attacks.map(({ number }) => number).sort((one, other) => one - other);
  return numbers.length === ATTACKS.length ? "all at once" : `${numbers.join(" + ")} at once`;
};

function verdict(run: Outcome, alone: Outcome): string[] {
  const worst = <Kind extends string>(kinds: readonly Kind[], of: (run: Outcome) => Readonly<Record<Kind, number[]>>): string => {
    const changes = kinds.map((kind) => ({ kind, before: p99(of(alone)[kind]), now: p99(of(run)[kind]) }));
    const [most] = changes.filter(({ now }) => !Number.isNaN(now)).sort((one, other) => other.now / other.before - one.now / one.before);
    return most && run !== alone ? `${most.kind} ${most.before.toFixed(0)} → ${most.now.toFixed(0)} ms` : "";
  };
  const max = (of: (node: Outcome["nodes"][number]) => number | null): string => {
    const values = run.nodes.map(of);
    return values.includes(null) ? "?" : Math.max(...values.map(Number)).toFixed(0);
  };
  return [
    title(run),
    worst(DELIVERIES, ({ samples }) => samples.deliveries),
    worst(REQUESTS, ({ samples }) => samples.requests),
    list(run.samples.refused),
    String(run.charged),
    `${max((node) => node.loopP99Ms)} / ${max((node) => node.loopMaxMs)} ms`,
    `${max((node) => node.heldP99Ms)} / ${max((node) => node.heldMaxMs)} ms`,
    `${max((node) => node.peakMib)} MiB`,
    `${(run.cores * 100).toFixed(0)} % of a core`,
    verdictOf(run, alone),
  ];
}

function verdictOf(run: Outcome, alone: Outcome): string {
  const short = missed(run, alone);
  return short.length === 0 ? "passed" : `missed: ${short.join("; ")}`;
}

/** A dash where no job was accepted. */
const quantiles = (ms: readonly number[]): string => (ms.length === 0 ? "–" : `${quantile(ms, 0.5).toFixed(0)} / ${p99(ms).toFixed(0)}`);

const list = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} × ${what}`)
    .join(", ") || "0";

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

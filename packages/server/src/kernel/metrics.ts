import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { EVENTS, type EventMetric } from "./event-catalogue.ts";
import type { Events } from "./events.ts";

type Fields = Readonly<Record<string, unknown>>;
type Move = (fields: Fields) => void;

/** Prometheus metrics of a node. Events change them, by the catalogue. */
export function createMetrics(events: Events): Registry {
  const registry = new Registry();
  const moves = new Map<string, Move[]>();
  for (const [name, { metrics }] of Object.entries(EVENTS)) {
    if (metrics.length > 0)
      moves.set(
        name,
        metrics.map((metric) => register(metric, registry)),
      );
  }
  events.subscribe((event, fields) => {
    for (const move of moves.get(event) ?? []) move(fields);
  });
  return registry;
}

function register(metric: EventMetric, registry: Registry): Move {
  const { name, help } = metric;
  const registers = [registry];
  if (metric.type === "gauge") {
    const gauge = new Gauge({ name, help, registers });
    return (fields) => gauge.set(Number(fields[metric.set]));
  }
  if (metric.type === "histogram") {
    const histogram = new Histogram({ name, help, buckets: [...metric.buckets], registers });
    return (fields) => histogram.observe(Number(fields[metric.observeMs]) / 1000);
  }
  const { increment, labels = [] } = metric;
  const counter = new Counter({ name, help, labelNames: [...labels], registers });
  const amount: (fields: Fields) => number = increment === undefined ? () => 1 : (fields) => Number(fields[increment]);
  if (labels.length === 0) return (fields) => counter.inc(amount(fields));
  return (fields) => {
    const values: Record<string, string> = {};
    for (const label of labels) values[label] = String(fields[label]);
    counter.inc(values, amount(fields));
  };
}

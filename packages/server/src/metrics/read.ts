import type { Metrics, MetricsStep } from "@tidemill/contract";
import { addTo, quantileOf } from "#jobs";
import { type Db, toMoment, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

import type { MetricRange } from "./range.ts";
import { type MetricPart, readMetricParts } from "./store.ts";

/** Reads the steps of a range, of one queue or of all. */
export async function readMetrics(
  db: Db,
  workspaceId: WorkspaceId,
  queue: { readonly id: LaneId; readonly name: string } | null,
  range: MetricRange,
): Promise<Metrics> {
  const parts = await readMetricParts(db, workspaceId, queue?.id ?? null, range);
  const { toMs, stepSeconds, keptFromMs } = range;
  const stepMs = stepSeconds * 1_000;
  const fromMs = Math.max(range.fromMs, keptFromMs === null ? 0 : Math.floor(keptFromMs / stepMs) * stepMs);
  const byStep = Map.groupBy(parts, ({ at_ms }) => Math.floor(at_ms / stepMs) * stepMs);
  const count = Math.max(0, (toMs - fromMs) / stepMs);
  return {
    queue: queue?.name ?? null,
    from: toMoment(Math.min(fromMs, toMs)),
    to: toMoment(toMs),
    step: stepSeconds,
    kept_from: keptFromMs === null ? null : toMoment(keptFromMs),
    data: Array.from({ length: count }, (_, index) => fromMs + index * stepMs).map((atMs) => stepOf(atMs, byStep.get(atMs) ?? [])),
  };
}

function stepOf(atMs: number, parts: readonly MetricPart[]): MetricsStep {
  const histogram: number[] = [];
  for (const { latencies } of parts) addTo(histogram, JSON.parse(latencies) as number[]);
  const sum = (of: (part: MetricPart) => number) => parts.reduce((total, part) => total + of(part), 0);
  const waits = parts.flatMap(({ oldest_seconds }) => (oldest_seconds === null ? [] : [oldest_seconds]));
  return {
    at: toMoment(atMs),
    enqueued: sum(({ enqueued }) => enqueued),
    completed: sum(({ completed }) => completed),
    failed: sum(({ failed }) => failed),
    retried: sum(({ retried }) => retried),
    latency_ms: { p50: quantileOf(histogram, 0.5), p99: quantileOf(histogram, 0.99) },
    oldest_waiting_seconds: waits.length === 0 ? null : Math.max(...waits),
  };
}

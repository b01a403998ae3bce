import type { Acknowledged } from "./enqueue.ts";
import type { Arrival, Handler } from "./handler.ts";
import { count, milliseconds, quantile } from "./progress.ts";

/** The fields of a job that the demo checks. */
export interface JobRecord {
  readonly id: string;
  readonly state: string;
  readonly payload: unknown;
  readonly last_error: { readonly code: string; readonly message: string } | null;
}

export interface Outcome {
  readonly jobs: number;
  readonly acknowledged: ReadonlyMap<string, Acknowledged>;
  readonly handler: Pick<Handler, "arrivals" | "refused" | "url">;
  /** Every job of the queue, as the service shows it at the end. */
  readonly records: readonly JobRecord[];
  readonly tookMs: number;
}

/** The first callback of each job. */
function firstArrivals(arrivals: readonly Arrival[]): Map<string, Arrival> {
  const first = new Map<string, Arrival>();
  for (const arrival of arrivals) if (!first.has(arrival.id)) first.set(arrival.id, arrival);
  return first;
}

/** Milliseconds from sending a job's request to the arrival of its first callback, for each job that arrived. */
export function latenciesOf({ acknowledged, handler }: Pick<Outcome, "acknowledged" | "handler">): number[] {
  return [...firstArrivals(handler.arrivals)].flatMap(([id, { atMs }]) => {
    const sent = acknowledged.get(id);
    return sent ? [atMs - sent.atMs] : [];
  });
}

/** Compares the acknowledged jobs with those that arrived and with the service's records. Returns the differences. */
export function findFaults({ jobs, acknowledged, handler, records }: Outcome): string[] {
  const expected = [...acknowledged];
  const stored = new Map(records.map((record) => [record.id, record]));
  const arrived = firstArrivals(handler.arrivals);
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const faults: [number, string][] = [
    [jobs - expected.length, "jobs were not acknowledged"],
    [expected.filter(([id]) => stored.get(id)?.state !== "completed").length, "acknowledged jobs did not complete"],
    [expected.filter(([id]) => !arrived.has(id)).length, "acknowledged jobs never reached the handler"],
    [
      expected.filter(([id, { payload }]) => stored.has(id) && !same(stored.get(id)?.payload, payload)).length,
      "jobs are stored with a different payload",
    ],
    [
      expected.filter(([id, { payload }]) => arrived.has(id) && !same(arrived.get(id)?.payload, payload)).length,
      "jobs arrived with a different payload",
    ],
    [records.filter(({ id }) => !acknowledged.has(id)).length, "stored jobs were never acknowledged"],
    [handler.refused.length, `callbacks had no valid signature: ${[...new Set(handler.refused)].join(", ")}`],
  ];
  return faults.filter(([number]) => number > 0).map(([number, what]) => `${count(number)} ${what}`);
}

/** The distinct reasons why jobs failed. */
function reasonsOf({ records, handler }: Outcome): string[] {
  const errors = records.flatMap(({ state, last_error }) => (state === "failed" && last_error ? [last_error] : []));
  return [...Map.groupBy(errors, ({ code, message }) => `${code}: ${message}`)].map(([why, jobs]) => {
    const { hostname } = new URL(handler.url);
    const hint = jobs[0]?.code === "BLOCKED_ADDRESS" ? ` Start the service with TIDEMILL_ALLOW_ADDRESSES=${hostname}.` : "";
    return `${why} (${count(jobs.length)} jobs)${hint}`;
  });
}

/** The summary that the demo prints at the end. */
export function summarise(outcome: Outcome, faults: readonly string[]): string {
  const { acknowledged, handler, records, tookMs } = outcome;
  const completed = records.filter(({ state }) => state === "completed").length;
  const latencies = latenciesOf(outcome);
  const repeated = handler.arrivals.length - firstArrivals(handler.arrivals).size;
  return [
    "",
    `  acknowledged  ${count(acknowledged.size)}`,
    `  completed     ${count(completed)} in ${(tookMs / 1000).toFixed(2)} s, ${count(Math.round((completed * 1000) / tookMs))}/s`,
    `  latency       p50 ${milliseconds(quantile(latencies, 0.5))}, p99 ${milliseconds(quantile(latencies, 0.99))}, from enqueue to handler`,
    `  signatures    ${count(handler.arrivals.length)} valid, ${count(handler.refused.length)} invalid`,
    ...(repeated > 0 ? [`  repeated      ${count(repeated)} callbacks, which at-least-once delivery allows`] : []),
    "",
    ...faults.map((fault) => `  Problem: ${fault}.`),
    ...reasonsOf(outcome).map((why) => `  Reason: ${why}`),
    faults.length === 0 ? "  Every acknowledged job completed, and every signature was valid." : "  The demo failed.",
    "",
    "",
  ].join("\n");
}

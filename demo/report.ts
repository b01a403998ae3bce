import type { Acknowledged } from "./enqueue.ts";
import type { Arrival, Handler } from "./handler.ts";
import { count, milliseconds, quantile } from "./progress.ts";

/** What the demo looks at of a job's record. */
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
  /** Every job of the queue, as the service has it in the end. */
  readonly records: readonly JobRecord[];
  readonly tookMs: number;
}

/** The first callback of each job. */
function firstArrivals(arrivals: readonly Arrival[]): Map<string, Arrival> {
  const first = new Map<string, Arrival>();
  for (const arrival of arrivals) if (!first.has(arrival.id)) first.set(arrival.id, arrival);
  return first;
}

/** From sending the request to the arrival of the first callback, of the jobs that came. Milliseconds. */
export function latenciesOf({ acknowledged, handler }: Pick<Outcome, "acknowledged" | "handler">): number[] {
  return [...firstArrivals(handler.arrivals)].flatMap(([id, { atMs }]) => {
    const sent = acknowledged.get(id);
    return sent ? [atMs - sent.atMs] : [];
  });
}

/** Compares what was acknowledged with what arrived and with what the service says of it. Answers what is wrong. */
export function findFaults({ jobs, acknowledged, handler, records }: Outcome): string[] {
  const known = [...acknowledged];
  const stored = new Map(records.map((record) => [record.id, record]));
  const arrived = firstArrivals(handler.arrivals);
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const faults: [number, string][] = [
    [jobs - known.length, "jobs were not acknowledged"],
    [known.filter(([id]) => stored.get(id)?.state !== "completed").length, "acknowledged jobs did not complete"],
    [known.filter(([id]) => !arrived.has(id)).length, "acknowledged jobs never reached the handler"],
    [
      known.filter(([id, { payload }]) => stored.has(id) && !same(stored.get(id)?.payload, payload)).length,
      "jobs are stored with another payload",
    ],
    [
      known.filter(([id, { payload }]) => arrived.has(id) && !same(arrived.get(id)?.payload, payload)).length,
      "jobs came with another payload",
    ],
    [records.filter(({ id }) => !acknowledged.has(id)).length, "jobs are stored that were not acknowledged"],
    [handler.refused.length, `signatures were wrong: ${[...new Set(handler.refused)].join(", ")}`],
  ];
  return faults.filter(([number]) => number > 0).map(([number, what]) => `${count(number)} ${what}`);
}

/** Why jobs failed, each reason once. */
function reasonsOf({ records, handler }: Outcome): string[] {
  const errors = records.flatMap(({ state, last_error }) => (state === "failed" && last_error ? [last_error] : []));
  return [...Map.groupBy(errors, ({ code, message }) => `${code}: ${message}`)].map(([why, jobs]) => {
    const { hostname } = new URL(handler.url);
    const hint = jobs[0]?.code === "BLOCKED_ADDRESS" ? ` Start the service with TIDEMILL_ALLOW_ADDRESSES=${hostname}.` : "";
    return `${why} (${count(jobs.length)} jobs)${hint}`;
  });
}

/** The summary, for people. */
export function summarise(outcome: Outcome, faults: readonly string[]): string {
  const { acknowledged, handler, records, tookMs } = outcome;
  const completed = records.filter(({ state }) => state === "completed").length;
  const latencies = latenciesOf(outcome);
  const again = handler.arrivals.length - firstArrivals(handler.arrivals).size;
  return [
    "",
    `  acknowledged  ${count(acknowledged.size)}`,
    `  completed     ${count(completed)} in ${(tookMs / 1000).toFixed(2)} s, ${count(Math.round((completed * 1000) / tookMs))}/s`,
    `  latency       p50 ${milliseconds(quantile(latencies, 0.5))}, p99 ${milliseconds(quantile(latencies, 0.99))}, from enqueue to handler`,
    `  signatures    ${count(handler.arrivals.length)} right, ${count(handler.refused.length)} wrong`,
    ...(again > 0 ? [`  came again    ${count(again)}, which at-least-once delivery allows`] : []),
    "",
    ...faults.map((fault) => `  Wrong: ${fault}.`),
    ...reasonsOf(outcome).map((why) => `  Why: ${why}`),
    faults.length === 0 ? "  Every job completed as it was acknowledged, and every signature was right." : "  The demo failed.",
    "",
    "",
  ].join("\n");
}

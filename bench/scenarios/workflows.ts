import { randomUUID } from "node:crypto";
import { type Cost, costOf, medianOf } from "../cost.ts";
import type { Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { startRestate } from "../restate.ts";
import type { RunOrder, RunsTook } from "../run-orders.ts";
import { type Figure, median, thousands } from "../table.ts";

/** Short rounds in turn: a machine that is slow for a moment is so for both. */
const ROUNDS = { alone: 20, together: 6, trigger: 4 } as const;
const RUNS = { alone: 100, together: 300, trigger: 1_000 } as const;
/**
 * Rounds of each kind that are not measured. Clients live through all rounds, as workers do: V8 optimizes code that has run some thousand times,
 * which takes longest with one run at a time.
 */
const WARM_UP = { alone: 30, together: 4, trigger: 4 } as const;
const KINDS = ["alone", "together", "trigger"] as const;

type Kind = RunOrder["kind"];
type Rounds = Record<Kind, RunsTook[]>;

const NAMES: Record<Kind, string> = {
  alone: "runs of five steps, one at a time",
  together: "runs of five steps, 64 at a time",
  trigger: "runs started by 64 callers, and not executed",
};

/** What is measured of each kind, with its bar: alone, and as a multiple of Restate's. */
const BARS: Record<Kind, { value: (took: RunsTook) => number; unit: string; bar: number; ratio: number | null; isTime: boolean }> = {
  alone: { value: ({ p50Ms }) => p50Ms, unit: "ms p50", bar: 8, ratio: 0.6, isTime: true },
  together: { value: ({ perSecond }) => perSecond, unit: "runs/s", bar: 600, ratio: 2, isTime: false },
  trigger: { value: ({ perSecond }) => perSecond, unit: "runs/s", bar: 3_000, ratio: null, isTime: false },
};

/** Runs of five steps that do nothing: started, and executed by one process. Rounds of Restate's take turns with ours. */
export async function workflows(environment: Environment): Promise<Figure[]> {
  const profile = process.env.BENCH_PROFILE;
  const node = await environment.node(profile ? { BENCH_PROFILE: profile } : {});
  const restate = await startRestate();
  const costs: Record<Kind, Cost[]> = { alone: [], together: [], trigger: [] };
  const [ours, theirs] = [emptyRounds(), emptyRounds()];
  const { peer: client } = await Peer.start("sdk-runs");
  const rival = restate && (await Peer.start("restate", { RESTATE_LOGGING: "ERROR" })).peer;
  for (const kind of KINDS) {
    const runs = RUNS[kind];
    for (let round = -WARM_UP[kind]; round < ROUNDS[kind]; round += 1) {
      const order = { kind, name: `workflows-${randomUUID().slice(0, 8)}`, runs };
      let took: RunsTook | undefined;
      const cost = await costOf(node.peer, environment.connection.host, async () => {
        took = await client.ask<RunsTook>({ ...order, url: node.url, key: environment.key });
        return runs;
      });
      const other = restate && (await rival?.ask<RunsTook>({ ...order, url: restate.ingressUrl, key: restate.adminUrl }));
      if (round < 0 || !took) continue;
      costs[kind].push(cost);
      ours[kind].push(took);
      if (other) theirs[kind].push(other);
    }
  }
  await client.stop();
  await rival?.stop();
  await restate?.stop();
  await node.stop();
  return KINDS.map((kind) => figureOf(kind, ours[kind], theirs[kind], costs[kind]));
}

const emptyRounds = (): Rounds => ({ alone: [], together: [], trigger: [] });

function figureOf(kind: Kind, ours: readonly RunsTook[], theirs: readonly RunsTook[], costs: readonly Cost[]): Figure {
  const { value, unit, bar, ratio, isTime } = BARS[kind];
  const measured = median(ours.map(value));
  const rival = theirs.length > 0 ? median(theirs.map(value)) : null;
  // Of rounds in turn.
  const times = median(theirs.map((other, round) => value(ours[round] as RunsTook) / value(other)));
  const shown = (one: number) => `${isTime ? one.toFixed(1) : thousands(one)} ${unit}`;
  const fits = (one: number, limit: number) => (isTime ? one <= limit : one >= limit);
  const sign = isTime ? "≤" : "≥";
  const client = median(ours.map(({ cpu }) => cpu)).toFixed(0);
  return {
    name: NAMES[kind],
    measured: `${shown(measured)}; ${client} µs of the client, ${medianOf(costs, "process").toFixed(0)} of the node, ${medianOf(costs, "postgres").toFixed(0)} of PostgreSQL`,
    yardstick: rival === null ? "Restate: restate-server is not installed here" : `Restate: ${shown(rival)}`,
    ratio: rival === null ? "" : times.toFixed(2),
    bar: `${sign} ${shown(bar)}${ratio === null ? "" : `, ${sign} ${ratio}`}`,
    met: fits(measured, bar) && (ratio === null || rival === null || fits(times, ratio)),
  };
}

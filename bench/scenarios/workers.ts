import { randomUUID } from "node:crypto";
import { cpus } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { row, sql } from "../../packages/server/src/kernel/index.ts";
import { FEW, LIST, type Order, TAKEN, type Took } from "../client-orders.ts";
import type { Environment } from "../environment.ts";
import { type Floors, floors, PEERS, type Side, tidemill } from "../sides.ts";
import { type Figure, median, thousands } from "../table.ts";

export interface WorkersOptions {
  /** Jobs of a round. */
  readonly jobs?: number;
  /** Names of `PEERS`, or FLOORS. */
  readonly peers?: readonly string[];
}

/** The name of the floors among the peers. */
export const FLOORS = "floors";

const ROUNDS = 3;
const JOBS = 30_000;
/**
 * How many times as many jobs the first round has, which warms up. After 10,000 jobs V8 has not compiled all there is: Tidemill's client then
 * took 15 µs for an enqueue, and 6 µs after 150,000.
 */
const WARM_UP = 2;
const KINDS = ["enqueue", "enqueueMany", "work"] as const;

type Kind = Order["kind"];

const NAMES: Record<Kind, string> = {
  enqueue: "enqueue from 64 concurrent callers",
  enqueueMany: `enqueue in lists of ${LIST}`,
  work: "jobs taken and settled by one worker process",
};

/** What the floors do for a kind of work: PostgreSQL and HTTP. */
const FLOOR_NAMES: Record<Kind, readonly [string, string]> = {
  enqueue: [`inserts of ${FEW} rows, durable`, `lists of ${FEW}, stored nowhere`],
  enqueueMany: [`inserts of ${LIST} rows, durable`, `lists of ${LIST}, stored nowhere`],
  work: [`${TAKEN} rows claimed, then moved to another table, durable`, `calls that settle and take ${TAKEN}, stored nowhere`],
};

/** What one round has shown of a side. Processor times are microseconds for each job: of the client, then of each server. */
interface Measured {
  readonly perSecond: number;
  readonly costs: readonly number[];
}

type Rounds = Record<Kind, Measured[]>;

/**
 * Jobs that do nothing, enqueued and run by one process: the client of Tidemill, those of other systems, and floors, round by round in turn. The
 * first round warms up.
 */
export async function workers(
  environment: Environment,
  { jobs = JOBS, peers = [...Object.keys(PEERS), FLOORS] }: WorkersOptions = {},
): Promise<Figure[]> {
  const profile = process.env.BENCH_PROFILE;
  const node = await environment.node(profile ? { BENCH_PROFILE: profile } : {});
  const ours = await tidemill(environment, node);
  const bare = peers.includes(FLOORS) ? await floors(environment, node) : null;
  const started = await Promise.all(peers.flatMap((name) => PEERS[name]?.(environment) ?? []));
  const rivals = started.filter((one) => typeof one !== "string");
  const sides = [ours, ...(bare ? Object.values<Side>({ ...bare }) : []), ...rivals];
  const rounds = new Map(sides.map((side) => [side, { enqueue: [], enqueueMany: [], work: [] } as Rounds]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [side, measured] of rounds) {
      await untilVacuumRests(environment);
      if (round === 0) await measureRound(side, WARM_UP * jobs, null);
      else await measureRound(side, jobs, measured);
    }
  }
  await Promise.all(sides.map((side) => side.stop()));
  const of = (side: Side): Rounds => rounds.get(side) as Rounds;
  return [
    ...KINDS.map((kind) => figure(NAMES[kind], shown(ours, of(ours)[kind]))),
    ...rivals.flatMap((rival) => KINDS.map((kind) => compare(kind, of(ours), rival, of(rival)))),
    ...started.filter((one) => typeof one === "string").map((name) => figure(name, "missing: not installed here")),
    ...(bare ? showFloors(bare, of, ours) : []),
  ];
}

/** What one side leaves behind is not cleaned up while another is measured. */
async function untilVacuumRests({ database }: Environment): Promise<void> {
  const runs = sql`select from pg_stat_activity where backend_type = 'autovacuum worker' limit 1`;
  for (let tries = 0; tries < 100 && (await row(database, runs)); tries += 1) await wait(50);
}

/** @param into null to warm up */
async function measureRound(side: Side, jobs: number, into: Rounds | null): Promise<void> {
  const { client, where, servers } = side;
  const queue = `workers-${randomUUID().slice(0, 8)}`;
  await side.createQueue?.(queue);
  const some = Math.max(1_000, Math.round(jobs * side.share));
  for (const kind of KINDS) {
    // What both kinds have enqueued is run.
    const order: Order = { kind, ...where, queue, jobs: kind === "work" ? 2 * some : some };
    const before = Object.values(servers).map((read) => read());
    const { perSecond, cpu } = await client.ask<Took>(order);
    const costs = Object.values(servers).map((read, index) => ((read() - (before[index] ?? 0)) / order.jobs) * 1e6);
    const measured = { perSecond, costs: [cpu, ...costs] };
    into?.[kind].push(measured);
    process.stderr.write(`${into ? "" : "warm-up: "}${side.name}, ${NAMES[kind]}: ${shown(side, [measured])}\n`);
  }
}

function compare(kind: Kind, ours: Rounds, rival: Side, theirs: Rounds): Figure {
  const ratio = speedOf(ours[kind]) / speedOf(theirs[kind]);
  const bar = rival.bars[kind];
  return {
    name: NAMES[kind],
    measured: `${thousands(speedOf(ours[kind]))} jobs/s`,
    yardstick: `${rival.name}: ${shown(rival, theirs[kind])}`,
    ratio: ratio.toFixed(2),
    bar: bar === undefined ? "" : `≥ ${bar}`,
    met: ratio >= (bar ?? 0),
  };
}

/** What the floors do by themselves, how many jobs they would leave room for, and how much more processor time a job of Tidemill takes. */
function showFloors({ postgres, indexed, http }: Floors, of: (side: Side) => Rounds, ours: Side): Figure[] {
  const cores = cpus().length;
  return KINDS.flatMap((kind) => {
    const [inPostgres, overHttp] = FLOOR_NAMES[kind];
    const own = totalOf(of(ours)[kind]);
    const beside = (database: Side): Figure => {
      const floor = totalOf(of(database)[kind]) + totalOf(of(http)[kind]);
      return {
        ...figure(`processor time of all parts, ${NAMES[kind]}`, `${own.toFixed(1)} µs a job`),
        yardstick: `${database.name}, with HTTP alone: ${floor.toFixed(1)} µs; at most ${thousands((cores * 1e6) / floor)} jobs/s on ${cores} cores`,
        ratio: (own / floor).toFixed(2),
      };
    };
    return [
      ...[postgres, indexed].map((side) => figure(`${side.name}: ${inPostgres}`, shown(side, of(side)[kind]))),
      figure(`${http.name}: ${overHttp}`, shown(http, of(http)[kind])),
      beside(postgres),
      beside(indexed),
    ];
  });
}

const figure = (name: string, measured: string): Figure => ({ name, measured, yardstick: "", ratio: "", bar: "", met: true });

const speedOf = (rounds: readonly Measured[]): number => median(rounds.map(({ perSecond }) => perSecond));

const totalOf = (rounds: readonly Measured[]): number => median(rounds.map(({ costs }) => costs.reduce((sum, one) => sum + one, 0)));

function shown({ servers }: Side, rounds: readonly Measured[]): string {
  const parts = ["the client", ...Object.keys(servers)].map((name, index) => {
    const cost = median(rounds.map(({ costs }) => costs[index] ?? Number.NaN)).toFixed(1);
    return `${cost}${index === 0 ? " µs" : ""} of ${name}`;
  });
  return `${thousands(speedOf(rounds))} jobs/s, ${parts.join(", ")}`;
}

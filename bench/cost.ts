import type { Peer } from "./processes.ts";
import { processorOfPostgres, processorOfProcess } from "./processor.ts";
import { median } from "./table.ts";

/** What an operation cost in one round. Processor times are microseconds for each operation. */
export interface Cost {
  readonly perSecond: number;
  readonly process: number;
  readonly postgres: number;
}

/** Measures work of one process, and what PostgreSQL did meanwhile. `work` answers how many operations there were. */
export async function costOf(process: Peer, socketDirectory: string, work: () => Promise<number>): Promise<Cost> {
  const before = { atMs: performance.now(), process: processorOfProcess(process.pid), postgres: processorOfPostgres(socketDirectory) };
  const operations = await work();
  const seconds = (performance.now() - before.atMs) / 1_000;
  const each = (spent: number) => (spent / operations) * 1e6;
  return {
    perSecond: operations / seconds,
    process: each(processorOfProcess(process.pid) - before.process),
    postgres: each(processorOfPostgres(socketDirectory) - before.postgres),
  };
}

type Part = keyof Cost;

/** The median of the rounds. */
export const medianOf = (rounds: readonly Cost[], part: Part): number => median(rounds.map((cost) => cost[part]));

/** The median of what rounds are to those of the yardstick, each to the one that ran in turn with it. */
export const ratioOf = (rounds: readonly Cost[], yardstick: readonly Cost[], part: Part): number =>
  median(rounds.map((cost, round) => cost[part] / (yardstick[round]?.[part] ?? Number.NaN)));

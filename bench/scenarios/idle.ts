import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Environment } from "../environment.ts";
import { processesOfPostgres } from "../processor.ts";
import type { Figure } from "../table.ts";
import { countTransactions } from "../transactions.ts";

const SECONDS = 20;
const SETTLE_SECONDS = 5;
const BAR_MIB = 130;
const BAR_STATEMENTS = 4;
const BAR_CPU = 0.01;

/** What an idle node costs: memory of the node and its PostgreSQL, processor time, and transactions per second. */
export async function idle(environment: Environment): Promise<Figure[]> {
  const transactions = () => countTransactions(environment.database);
  const cpuOf = ({ cpu }: { cpu: NodeJS.CpuUsage }) => (cpu.user + cpu.system) / 1e6;
  const usage = () => node.peer.ask<{ rssBytes: number; cpu: NodeJS.CpuUsage }>({});
  // PostgreSQL's own transactions, usually autovacuum, are measured without a node and subtracted. A first node creates the schema.
  await (await environment.node()).stop();
  const beforeAlone = await transactions();
  await wait(SECONDS * 1000);
  const alone = (await transactions()) - beforeAlone;
  const node = await environment.node();
  await wait(SETTLE_SECONDS * 1000);
  const before = { transactions: await transactions(), usage: await usage() };
  await wait(SECONDS * 1000);
  const after = { transactions: await transactions(), usage: await usage() };
  const postgresBytes = memoryOfPostgres(environment.connection.host);
  await node.stop();
  const statements = (after.transactions - before.transactions - alone) / SECONDS;
  const cpu = (cpuOf(after.usage) - cpuOf(before.usage)) / SECONDS;
  const nodeMib = after.usage.rssBytes / 2 ** 20;
  const postgresMib = postgresBytes / 2 ** 20;
  const figure = (name: string, measured: string, bar: string, met: boolean): Figure => ({
    name,
    measured,
    yardstick: "",
    ratio: "",
    bar,
    met,
  });
  return [
    figure(
      "idle: memory",
      `${nodeMib.toFixed(0)} MiB node + ${postgresMib.toFixed(0)} MiB PostgreSQL`,
      `≤ ${BAR_MIB} MiB`,
      nodeMib + postgresMib <= BAR_MIB,
    ),
    figure("idle: statements", `${statements.toFixed(1)} /s`, `≤ ${BAR_STATEMENTS} /s`, statements <= BAR_STATEMENTS),
    figure("idle: processor", `${(cpu * 100).toFixed(2)} % of a core`, `≤ ${BAR_CPU * 100} %`, cpu <= BAR_CPU),
  ];
}

/** Proportional set size (PSS) of PostgreSQL's processes, in bytes. */
const memoryOfPostgres = (socketDirectory: string): number =>
  processesOfPostgres(socketDirectory).reduce(
    (sum, pid) => sum + Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) * 1024,
    0,
  );

import { retryAllFailed } from "../dashboard/change-many.ts";
import { countsOf, pagesOf } from "../dashboard/pages.ts";
import { putMixedJobs, putWaitingJobs } from "../dashboard/put-jobs.ts";
import { putRecords } from "../dashboard/put-records.ts";
import { type Longest, watchStatements } from "../dashboard/watch-statements.ts";
import type { BenchNode, Environment } from "../environment.ts";
import { readProcessor } from "../processor.ts";
import { type Figure, median, thousands } from "../table.ts";

const JOBS = 1_000_000;
/** For each of them, so many wait in another queue when counts are measured. */
const WAITING_FOR_EACH = 5;
const WARM_UP = 2;
const ROUNDS = 7;
const PAGE_BAR_MS = 150;
const COUNTS_BAR_MS = 50;
const STATEMENT_BAR_MS = 2_000;

export interface DashboardOptions {
  /** Jobs in the workspace. Fewer than a million show only that the scenario works. */
  readonly jobs?: number | undefined;
}

/**
 * How long first pages take with 1,000,000 jobs, how long a change of all failed ones takes, and the status and a queue's counts with 5,000,000
 * that wait. Each with the longest statement of all connections.
 */
export async function dashboard(environment: Environment, { jobs = JOBS }: DashboardOptions = {}): Promise<Figure[]> {
  const node = await environment.node();
  await putMixedJobs(environment.database, jobs);
  await putRecords(environment, node);
  const figures = [
    ...(await firstPages(environment, node, jobs)),
    ...(await changeOfMany(environment, node)),
    ...(await keptCounts(environment, node, jobs * WAITING_FOR_EACH)),
  ];
  await node.stop();
  return figures;
}

async function firstPages(environment: Environment, node: BenchNode, jobs: number): Promise<Figure[]> {
  const { data } = await node.api<{ data: { id: string }[] }>("GET", "/v1/jobs?limit=1");
  const groups = await node.api<{ data: { fingerprint: string }[] }>("GET", "/v1/dlq/groups");
  const known = { id: data[0]?.id ?? "", fingerprint: groups.data[0]?.fingerprint ?? "" };
  const end = await watchStatements(environment);
  const figures: Figure[] = [];
  for (const [name, path] of Object.entries(pagesOf(known))) figures.push(await measure(environment, node, name, path, PAGE_BAR_MS));
  for (const [name, path] of Object.entries(countsOf(known))) figures.push(await measure(environment, node, name, path, null));
  return [...figures, statementFigure(`pages with ${thousands(jobs)} jobs`, await end())];
}

async function changeOfMany(environment: Environment, node: BenchNode): Promise<Figure[]> {
  const end = await watchStatements(environment);
  const { jobs, seconds } = await retryAllFailed(node);
  const name = `retry of ${thousands(jobs)} failed jobs`;
  return [
    { name, measured: `${seconds.toFixed(1)} s, ${thousands(jobs / seconds)} jobs/s`, yardstick: "", ratio: "", bar: "", met: true },
    statementFigure(name, await end()),
  ];
}

async function keptCounts(environment: Environment, node: BenchNode, waiting: number): Promise<Figure[]> {
  await putWaitingJobs(environment.database, waiting);
  const end = await watchStatements(environment);
  const behind = `with ${thousands(waiting)} waiting`;
  return [
    await measure(environment, node, `status ${behind}`, "/v1/status", COUNTS_BAR_MS),
    await measure(environment, node, `a queue's counts ${behind}`, "/v1/queues/waiting-1", COUNTS_BAR_MS),
    await measure(environment, node, `queues with metrics ${behind}`, "/v1/queues?include=metrics&limit=100", PAGE_BAR_MS),
    statementFigure(`counts ${behind}`, await end()),
  ];
}

const statementFigure = (during: string, { ms, text }: Longest): Figure => ({
  name: `longest statement: ${during}`,
  measured: ms === 0 ? "none above 50 ms" : `${ms.toFixed(0)} ms: \`${text}\``,
  yardstick: "",
  ratio: "",
  bar: `≤ ${STATEMENT_BAR_MS} ms`,
  met: ms <= STATEMENT_BAR_MS,
});

/** The median over rounds; the first ones plan the statements. On a busy machine, the processor time per request says more. */
async function measure(environment: Environment, node: BenchNode, name: string, path: string, barMs: number | null): Promise<Figure> {
  const took: number[] = [];
  const ask = async () => {
    const from = performance.now();
    await node.api("GET", path);
    took.push(performance.now() - from);
  };
  for (let round = 0; round < WARM_UP; round += 1) await ask();
  const read = () => readProcessor(environment.connection.host, [node]);
  const before = await read();
  for (let round = 0; round < ROUNDS; round += 1) await ask();
  const { nodes, postgres } = await read();
  const each = ((nodes + postgres - before.nodes - before.postgres) * 1_000) / ROUNDS;
  const ms = median(took.slice(WARM_UP));
  return {
    name,
    measured: `${ms.toFixed(1)} ms; first ${(took[0] ?? 0).toFixed(0)} ms; processor ${each.toFixed(0)} ms`,
    yardstick: "",
    ratio: "",
    bar: barMs === null ? "" : `≤ ${barMs} ms`,
    met: barMs === null || ms <= barMs,
  };
}

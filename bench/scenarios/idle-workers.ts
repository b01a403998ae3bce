import { setTimeout as wait } from "node:timers/promises";
import type { Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { processorOfPostgres, processorOfProcess } from "../processor.ts";
import type { Figure } from "../table.ts";
import { countTransactions } from "../transactions.ts";

const WORKERS = 1_000;
/** Workers start one after the other in this time, so that their calls do not come all at once. */
const START_SECONDS = 15;
/** About twice as long as a call waits (28 s), and a multiple of the intervals of the node's own loops. */
const SECONDS = 60;
const SETTLE_SECONDS = 20;
const BAR_CPU = 0.02;
/** None, but for the noise of a minute. */
const BAR_STATEMENTS = 0.1;

/** What workers cost while they wait for jobs, beside the same node without them. */
export async function idleWorkers(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  const read = async () => ({
    statements: await countTransactions(environment.database),
    node: processorOfProcess(node.peer.pid),
    postgres: processorOfPostgres(environment.connection.host),
  });
  const measure = async () => {
    const before = await read();
    await wait(SECONDS * 1000);
    const after = await read();
    const each = (part: keyof typeof before) => (after[part] - before[part]) / SECONDS;
    return { statements: each("statements"), node: each("node"), postgres: each("postgres") };
  };
  await wait(SETTLE_SECONDS * 1000);
  const without = await measure();
  const { peer } = await Peer.start("idle-workers");
  await peer.ask({ url: node.url, key: environment.key, queue, workers: WORKERS, seconds: START_SECONDS });
  await wait(SETTLE_SECONDS * 1000);
  const withWorkers = await measure();
  await peer.stop();
  await node.stop();
  const processor = (of: typeof without) => `${(of.node * 100).toFixed(1)} % of a core; PostgreSQL ${(of.postgres * 100).toFixed(1)} %`;
  const name = `${WORKERS} workers that wait`;
  const statements = withWorkers.statements - without.statements;
  return [
    {
      name: `${name}: processor`,
      measured: processor(withWorkers),
      yardstick: `${processor(without)} without workers`,
      ratio: "",
      bar: `≤ ${BAR_CPU * 100} %`,
      met: withWorkers.node <= BAR_CPU,
    },
    {
      name: `${name}: statements of theirs`,
      measured: `${statements.toFixed(1)} /s, of ${withWorkers.statements.toFixed(1)}`,
      yardstick: `${without.statements.toFixed(1)} /s without workers`,
      ratio: "",
      bar: "0 /s",
      met: statements < BAR_STATEMENTS,
    },
  ];
}

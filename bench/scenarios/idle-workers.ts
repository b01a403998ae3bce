import { setTimeout as wait } from "node:timers/promises";
import type { Environment } from "../environment.ts";
import { Peer } from "../processes.ts";
import { processorOfPostgres, processorOfProcess } from "../processor.ts";
import type { Figure } from "../table.ts";
import { countTransactions } from "../transactions.ts";

const WORKERS = 1_000;
/** Longer than a poll waits. */
const SECONDS = 40;
const SETTLE_SECONDS = 20;
const BAR_CPU = 0.02;
/** Those of an idle node. */
const BAR_STATEMENTS = 4;

/** What workers cost while they wait for jobs. */
export async function idleWorkers(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const { peer } = await Peer.start("idle-workers");
  const queue = environment.queueName();
  await node.api("POST", "/v1/queues", { name: queue });
  await peer.ask({ url: node.url, key: environment.key, queue, workers: WORKERS });
  await wait(SETTLE_SECONDS * 1000);
  const read = async () => ({
    transactions: await countTransactions(environment.database),
    node: processorOfProcess(node.peer.pid),
    postgres: processorOfPostgres(environment.connection.host),
  });
  const before = await read();
  await wait(SECONDS * 1000);
  const after = await read();
  await peer.stop();
  await node.stop();
  const each = (part: keyof typeof before) => (after[part] - before[part]) / SECONDS;
  const name = `${WORKERS} workers that wait`;
  return [
    {
      name: `${name}: processor`,
      measured: `${(each("node") * 100).toFixed(1)} % of a core; PostgreSQL ${(each("postgres") * 100).toFixed(1)} %`,
      yardstick: "",
      ratio: "",
      bar: `≤ ${BAR_CPU * 100} %`,
      met: each("node") <= BAR_CPU,
    },
    {
      name: `${name}: statements`,
      measured: `${each("transactions").toFixed(1)} /s`,
      yardstick: "",
      ratio: "",
      bar: `≤ ${BAR_STATEMENTS} /s`,
      met: each("transactions") <= BAR_STATEMENTS,
    },
  ];
}

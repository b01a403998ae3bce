import { Database, rows, sql } from "../../packages/server/src/kernel/index.ts";
import { register } from "../../packages/server/test/harness/node-leases.ts";
import { fillQueue, release, TAKE, timeClaim } from "../claims.ts";
import type { Environment } from "../environment.ts";
import { type Figure, median } from "../table.ts";

const CLAIMS = 200;
const BAR = 1.5;

/** One claim of 50 jobs with 1,000,000 waiting in the lane, against one with 1,000 waiting. The statement is the one that nodes use. */
export async function claim(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const database = new Database({ connection: environment.connection, size: 2, statementTimeoutMs: 600_000 });
  const small = await fillQueue(node, database, environment.queueName(), 1_000);
  const large = await fillQueue(node, database, environment.queueName(), 1_000_000);
  await node.stop();
  await rows(database, sql`update lane set paused = false where id = ${small.laneId} or id = ${large.laneId}`);
  const lease = await register(database, 3_600);
  if (!lease) throw new Error("No lease was granted.");
  const few: number[] = [];
  const many: number[] = [];
  for (let round = 0; round < CLAIMS; round += 1) {
    few.push(await timeClaim(database, lease.id, small));
    many.push(await timeClaim(database, lease.id, large));
    await release(database, small);
  }
  await database.close();
  const ratio = median(many) / median(few);
  return [
    {
      name: `claim of ${TAKE} with 1,000,000 waiting`,
      measured: `${median(many).toFixed(2)} ms`,
      yardstick: `${median(few).toFixed(2)} ms with 1,000 waiting`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR}`,
      met: ratio <= BAR,
    },
  ];
}

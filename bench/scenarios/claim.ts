import { claimAcrossWorkspaces } from "../../packages/server/src/jobs/index.ts";
import { Database, row, rows, sql, type WorkspaceId } from "../../packages/server/src/kernel/index.ts";
import type { LaneId, LaneKey } from "../../packages/server/src/lanes/index.ts";
import { register } from "../../packages/server/test/harness/node-leases.ts";
import type { Environment } from "../environment.ts";
import { insertJobs } from "../insert-jobs.ts";
import { type Figure, median } from "../table.ts";

const CLAIMS = 200;
const TAKE = 50;
const BAR = 1.5;

/** One claim of 50 jobs with 1,000,000 waiting in the lane, against one with 1,000 waiting. The statement is the one that nodes use. */
export async function claim(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const database = new Database({ connection: environment.connection, size: 2, statementTimeoutMs: 600_000 });
  const small = await fill(node, database, environment.queueName(), 1_000);
  const large = await fill(node, database, environment.queueName(), 1_000_000);
  await node.stop();
  await rows(database, sql`update lane set paused = false where id = ${small.laneId} or id = ${large.laneId}`);
  const lease = await register(database, 3_600);
  if (!lease) throw new Error("No lease was granted.");
  const few: number[] = [];
  const many: number[] = [];
  for (let round = 0; round < CLAIMS; round += 1) {
    few.push(await timeClaim(database, lease.id, small));
    many.push(await timeClaim(database, lease.id, large));
    // The small lane gets its jobs back, so that it always has 1,000.
    await rows(
      database,
      sql`update job set state = 'waiting', lease_id = null, attempt = 0 where state = 'active' and lane_id = ${small.laneId}`,
    );
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

async function fill(node: Awaited<ReturnType<Environment["node"]>>, database: Database, queue: string, jobs: number): Promise<LaneKey> {
  // A claim needs a callback URL. Nothing listens at this one, and the queue stays paused while the node runs.
  await node.api("POST", "/v1/queues", { name: queue, callback_url: "http://127.0.0.1:9/", paused: true });
  const lane = await row<{ workspace_id: WorkspaceId; id: LaneId }>(database, sql`select workspace_id, id from lane where name = ${queue}`);
  if (!lane) throw new Error("The queue does not exist.");
  await insertJobs(
    database,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempts, backoff_delay_ms, run_at, created_at, payload)
      select ${lane.workspace_id}, ${lane.id}, gen_random_uuid(), 'waiting', 0, 3, 1000, now() - n * interval '1 millisecond', now(), '{"to":"ada@example.com"}'
      from generate_series(1, ${jobs}::int) n`,
  );
  await rows(database, sql`vacuum analyze job`);
  return { workspaceId: lane.workspace_id, laneId: lane.id };
}

async function timeClaim(database: Database, leaseId: number, lane: LaneKey): Promise<number> {
  const startedMs = performance.now();
  const { claims } = await claimAcrossWorkspaces(database, { leaseId, served: "push" }, [{ ...lane, take: TAKE }]);
  const tookMs = performance.now() - startedMs;
  if (claims.length !== TAKE) throw new Error(`A claim returned ${claims.length} jobs.`);
  return tookMs;
}

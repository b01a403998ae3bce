import { claimAcrossWorkspaces } from "../packages/server/src/jobs/index.ts";
import { type Database, row, rows, sql, type WorkspaceId } from "../packages/server/src/kernel/index.ts";
import type { LaneId, LaneKey } from "../packages/server/src/lanes/index.ts";
import type { BenchNode } from "./environment.ts";
import { insertJobs } from "./insert-jobs.ts";

/** Jobs of a claim. */
export const TAKE = 50;

/** Makes a paused queue with so many waiting jobs. */
export async function fillQueue(node: BenchNode, database: Database, queue: string, jobs: number): Promise<LaneKey> {
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

/** How long a claim of 50 jobs takes. The queue must not be paused. Milliseconds. */
export async function timeClaim(database: Database, leaseId: number, lane: LaneKey): Promise<number> {
  const startedMs = performance.now();
  const { claims } = await claimAcrossWorkspaces(database, { leaseId, served: "push" }, [{ ...lane, take: TAKE }]);
  const tookMs = performance.now() - startedMs;
  if (claims.length !== TAKE) throw new Error(`A claim returned ${claims.length} jobs.`);
  return tookMs;
}

/** Releases what was claimed of a queue, so that it has as many waiting jobs as before. */
export const release = (database: Database, { laneId }: LaneKey): Promise<unknown> =>
  rows(database, sql`update job set state = 'waiting', lease_id = null, attempt = 0 where state = 'active' and lane_id = ${laneId}`);

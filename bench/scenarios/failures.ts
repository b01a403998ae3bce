import { readFileSync } from "node:fs";
import { foldGroupsAcrossWorkspaces } from "../../packages/server/src/dead-letters/groups-store.ts";
import { claimAcrossWorkspaces, settleNotCompletedAcrossWorkspaces } from "../../packages/server/src/jobs/index.ts";
import { Database, row, sql } from "../../packages/server/src/kernel/index.ts";
import { register } from "../../packages/server/test/harness/node-leases.ts";
import type { Environment } from "../environment.ts";
import { putJobs, putQueue } from "../put-jobs.ts";
import { type Figure, median } from "../table.ts";

const ROUNDS = 7;
const JOBS = 1_920;
const BATCH = 32;
/** Of processor time, to that of an attempt that is followed by another. */
const BAR = 2;

/** What a job gets when its attempt has failed: the error in the words of a handler. */
const OUTCOMES = {
  retry: () => "The handler answered 500: upstream is not available",
  same: () => "The handler answered 500: upstream is not available",
  own: (index: number) => `The handler answered 500: order ${index} of "user-${index}" was not found at https://api.example.com/${index}`,
} as const;

type Outcome = keyof typeof OUTCOMES;

/** What an attempt that fails costs PostgreSQL: followed by another, the last one with the same message as others, the last one with its own. */
export async function failures(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  await node.stop();
  const database = new Database({ connection: environment.connection, size: 1, statementTimeoutMs: 60_000 });
  const lease = await register(database, 3_600);
  const backend = await row<{ pid: number }>(database, sql`select pg_backend_pid() as pid`);
  if (!lease || !backend) throw new Error("No lease was granted.");
  const costs: Record<Outcome, number[]> = { retry: [], same: [], own: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const outcome of ["retry", "same", "own"] as const) {
      const lane = await putQueue(database, { name: environment.queueName(), url: "http://127.0.0.1:9/" });
      await putJobs(database, lane, JOBS);
      let spentMs = 0;
      for (let done = 0; done < JOBS; done += BATCH) {
        const { claims } = await claimAcrossWorkspaces(database, { leaseId: lease.id, served: "push" }, [{ ...lane, take: BATCH }]);
        const settled = claims.map((claim, index) => refusalOf(claim, outcome, done + index));
        const before = processorMs(backend.pid);
        await settleNotCompletedAcrossWorkspaces(database, settled);
        spentMs += processorMs(backend.pid) - before;
      }
      // The groups are known from the second round on, as those of most failures are.
      await foldGroupsAcrossWorkspaces(database);
      if (round > 0) costs[outcome].push((spentMs / JOBS) * 1_000);
    }
  }
  await database.close();
  const figure = (name: string, outcome: Outcome): Figure => {
    const ratio = median(costs[outcome]) / median(costs.retry);
    return {
      name: `${name}, in batches of ${BATCH}: PostgreSQL's processor`,
      measured: `${median(costs[outcome]).toFixed(1)} µs a job`,
      yardstick: `${median(costs.retry).toFixed(1)} µs for an attempt with another to follow`,
      ratio: ratio.toFixed(2),
      bar: `≤ ${BAR}`,
      met: ratio <= BAR,
    };
  };
  return [figure("jobs that fail for good alike", "same"), figure("jobs that fail for good with a message of their own", "own")];
}

type Claims = Awaited<ReturnType<typeof claimAcrossWorkspaces>>["claims"];

function refusalOf({ workspaceId, laneId, id, leaseId, attempt }: Claims[number], outcome: Outcome, index: number) {
  const key = { workspaceId, laneId, id, leaseId, attempt };
  const error = JSON.stringify({ code: "HTTP_STATUS", message: OUTCOMES[outcome](index), status: 500 });
  const logEntry = JSON.stringify({ attempt, started_at: "2026-11-25T12:00:00.000Z", duration_ms: 1.5, outcome: "failed", status: 500 });
  const common = { ...key, logEntry, aloneWaitMs: null, error, errorCode: "HTTP_STATUS" as const, recorded: true, spared: false };
  return outcome === "retry" ? { ...common, to: "delayed" as const, waitMs: 60_000 } : { ...common, to: "failed" as const, waitMs: 0 };
}

/** Processor time of a process of one thread until now. Linux only. */
const processorMs = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

import { randomUUID } from "node:crypto";
import type { Run, Settled, TakenRun, WorkResponse } from "@tidemill/contract";
import { type Database, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { hold, isWaiting } from "./locks.ts";
import { type Service, until } from "./service.ts";

/** A workflow of a test, with the calls of its worker. */
export interface TestWorkflow {
  readonly id: string;
  /** Starts a run. Returns its id. */
  trigger(body?: object): Promise<string>;
  work(body: object): Promise<WorkResponse>;
  /** Takes one run, which must come. */
  take(more?: object): Promise<TakenRun>;
  end(run: TakenRun, outcome: object): Promise<Settled>;
  get(runId: string): Promise<Run>;
}

/** Registers a workflow. */
export async function putWorkflow(service: Service, settings: object = {}): Promise<TestWorkflow> {
  const id = `wf-${randomUUID().slice(0, 8)}`;
  await service.ok("PUT", `/v1/workflows/${id}`, settings);
  const work = (body: object): Promise<WorkResponse> => service.ok("POST", "/v1/work", { worker: "w1", queues: [], ...body });
  return {
    id,
    work,
    trigger: async (body = {}) => (await service.ok("POST", `/v1/workflows/${id}/trigger`, body)).runIds[0],
    async take(more = {}) {
      const endMs = performance.now() + 10_000;
      do {
        const [run] = (await work({ workflows: [id], wait: 10, ...more })).runs;
        if (run) return run;
        // A call that waits may end early. So does each when the clock was advanced by more than five minutes. A worker asks again.
      } while (performance.now() < endMs);
      throw new Error("There was no run to take.");
    },
    end: async (run, outcome) =>
      (await work({ settle: [{ id: run.runId, lease_token: run.lease_token, ...outcome }] })).settled[0] as Settled,
    get: (runId) => service.ok("GET", `/v1/runs/${runId}`),
  };
}

/** The statuses of workflows of which more or fewer runs are counted than there are. */
export const miscountedRuns = ({ database }: Service): Promise<unknown[]> =>
  database.query(
    `select lane_id, status, sum(n)::int as n from (
      select lane_id, status, 1 as n from run union all select lane_id, status, -runs from run_count_now) counted
    group by 1, 2 having sum(n) <> 0`,
  );

export async function laneOfWorkflow({ database }: Service, id: string): Promise<LaneKey> {
  const [lane] = await database.query<{ workspaceId: WorkspaceId; laneId: LaneId }>(
    `select workspace_id as "workspaceId", id::int as "laneId" from lane where kind = 'workflow' and name = $1`,
    [id],
  );
  return lane as LaneKey;
}

/** A call of a worker that waits. */
export interface WaitingCall {
  // biome-ignore lint/suspicious/noExplicitAny: the body of a response.
  readonly response: Promise<any>;
  /** Closes the connection. */
  leave(): Promise<void>;
}

/**
 * Begins to wait for runs of a workflow that has none. Returns when a claim for the worker has found none, so that it waits for sure. The
 * nodes must not claim for themselves meanwhile: they never poll.
 */
export async function waitForRuns(engine: Database, service: Service, workflow: string, more: object = {}): Promise<WaitingCall> {
  const ask = { worker: "w1", queues: [], workflows: [workflow], ...more };
  // From now on the node claims only when it is told that there are runs.
  await service.ok("POST", "/v1/work", ask);
  const gone = new AbortController();
  const headers = { authorization: `Bearer ${service.key}`, "content-type": "application/json" };
  const body = JSON.stringify({ ...ask, wait: 20 });
  // Claims read this table.
  const lock = hold(engine, sql`lock table circuit in access exclusive mode`);
  await lock.held;
  const response = fetch(`${service.node.url}/v1/work`, { method: "POST", headers, body, signal: gone.signal }).then((reply) =>
    reply.json(),
  );
  const { workspaceId, laneId } = await laneOfWorkflow(service, workflow);
  await service.database.query("select pg_notify('tidemill_wake', $1)", [`pulledLaneWoken ${workspaceId} ${laneId}`]);
  await until(() => isWaiting(service.database, "claimant"), "the claim for the worker").finally(lock.release);
  // This call is answered after that claim.
  await service.ok("POST", "/v1/work", { ...ask, worker: `w-${randomUUID()}` });
  const leave = async () => {
    gone.abort();
    await response.catch(() => {});
  };
  return { response, leave };
}

import type { WorkResponse } from "@tidemill/contract";
import { describe, expect } from "vitest";
import type { Client } from "../harness/client.ts";
import type { TestDatabase } from "../harness/database.ts";
import type { Wire } from "../harness/database-wire.ts";
import { FetchWorker } from "../harness/fetch-worker.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

const JOBS = 300;
const SETTINGS = { TIDEMILL_NODE_LEASE_SECONDS: "2" };

function workersOf(stage: Stage, urls: readonly string[], queue: string, lease?: number): FetchWorker[] {
  const workers = [1, 2, 3].map((n) => new FetchWorker(`w${n}`, urls, queue, lease));
  for (const worker of workers) stage.finally(() => worker.stop());
  return workers;
}

/** How many jobs are completed; NaN while the node cannot say. */
async function completed(client: Client): Promise<number> {
  const { status, body } = await client.api("GET", "/v1/queues/mails");
  return status === 200 ? body.metrics.completed : Number.NaN;
}

/** Jobs that any of the workers got, without their attempts. */
const jobsOf = (workers: readonly FetchWorker[]): Set<string> =>
  new Set(workers.flatMap(({ got }) => [...got].map((one) => one.split(" ")[0] as string)));

describe("jobs of workers", () => {
  test("jobs of workers are all completed when a node is killed", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, ...SETTINGS };
    const [one, two] = [await stage.node(settings), await stage.node(settings)];
    await one.client.ok("POST", "/v1/queues", { name: "mails" });
    const ids = await one.client.enqueueMany("mails", JOBS);
    const workers = workersOf(stage, [one.url, two.url], "mails", 2);
    await until(() => jobsOf(workers).size > JOBS / 4, "a quarter of the jobs to be taken");
    await one.kill();
    await until(async () => (await completed(two.client)) === JOBS, "all jobs to be completed");
    expect(jobsOf(workers)).toEqual(new Set(ids));
  });

  test("jobs of workers are all completed when PostgreSQL is killed", async ({ stage }) => {
    const cluster = await stage.cluster();
    const node = await stage.node({ DATABASE_URL: cluster.url(), ...SETTINGS });
    await node.client.ok("POST", "/v1/queues", { name: "mails" });
    const ids = await node.client.enqueueMany("mails", JOBS);
    const workers = workersOf(stage, [node.url], "mails", 2);
    await until(() => jobsOf(workers).size > JOBS / 4, "a quarter of the jobs to be taken");
    await cluster.stop("killed");
    await cluster.start();
    await until(async () => (await completed(node.client)) === JOBS, "all jobs to be completed");
    expect(jobsOf(workers)).toEqual(new Set(ids));
    expect(node.ended).toBeNull();
  });

  test("a worker that asks while PostgreSQL is away is told to come again", async ({ stage }) => {
    const cluster = await stage.cluster();
    const node = await stage.node({ DATABASE_URL: cluster.url(), ...SETTINGS });
    await node.client.ok("POST", "/v1/queues", { name: "mails" });
    let calls = 0;
    // A call with a name looks up whether it is repeated.
    const ask = () => node.client.api("POST", "/v1/work", { worker: "w1", queues: ["mails"], request: `${++calls}` });
    expect((await ask()).status).toBe(200);
    await cluster.stop("fast");
    const { status, headers } = await ask();
    expect([status, headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    await cluster.start();
    await until(async () => (await ask()).status === 200, "the node to serve workers again");
  });

  test("jobs of a worker that dies go to another one, each with its next attempt", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
    await node.client.ok("POST", "/v1/queues", { name: "mails", defaultJobOptions: { backoff: { delay: 0 } } });
    const ids = await node.client.enqueueMany("mails", 20);
    const taken = await node.client.ok("POST", "/v1/work", { worker: "dead", queues: ["mails"], limit: 20, lease: 1 });
    expect(taken.jobs).toHaveLength(20);
    const workers = workersOf(stage, [node.url], "mails");
    await until(async () => (await completed(node.client)) === 20, "all jobs to be completed");
    expect(new Set(workers.flatMap(({ got }) => [...got]))).toEqual(new Set(ids.map((id) => `${id} 2`)));
    for (const id of ids) {
      expect((await node.client.job("mails", id)).attempts_log).toMatchObject([
        { attempt: 1, outcome: "failed", error: { code: "LEASE_EXPIRED" }, worker: "dead" },
        { attempt: 2, outcome: "completed" },
      ]);
    }
  });
});

describe("a run that is triggered on one of two nodes while a worker waits at the other", () => {
  const FLOW = "import";
  const ask = { worker: "w1", queues: [], workflows: [FLOW], request: "r1" };

  /** Two nodes, the second with its own connection to the database. A worker waits at it, and calls the first one when it gets no response. */
  async function setUp(stage: Stage, wireUrl: (database: TestDatabase) => Promise<string>) {
    const database = await stage.database();
    const one = await stage.node({ DATABASE_URL: database.url, ...SETTINGS });
    const two = await stage.node({ DATABASE_URL: await wireUrl(database), ...SETTINGS });
    await one.client.ok("PUT", `/v1/workflows/${FLOW}`, {});
    expect((await two.client.ok("POST", "/v1/work", ask)).runs).toEqual([]);
    // A call ends after its wait, also while the lease of a killed node has yet to end.
    const call = async (client: Client): Promise<WorkResponse> => {
      const response: WorkResponse = await client.ok("POST", "/v1/work", { ...ask, wait: 15 });
      return response.runs.length > 0 ? response : call(client);
    };
    const waiting = call(two.client).catch(() => call(one.client));
    await two.client.ok("POST", "/v1/work", { ...ask, worker: "w2" });
    const trigger = async (): Promise<string> => (await one.client.ok("POST", `/v1/workflows/${FLOW}/trigger`, {})).runIds[0];
    return { one, two, waiting, trigger };
  }

  test.for(["before", "after"])("goes to it by the first when that one is killed: %s it has claimed the run", async (when, { stage }) => {
    let wire: Wire | undefined;
    const { two, waiting, trigger } = await setUp(stage, async (database) => {
      wire = await stage.wire(database);
      return wire.url();
    });
    const claimed = wire?.holdResponsesFrom(({ text, tag }) => text.includes("claimant") && tag === "SELECT 1");
    if (when === "before") wire?.holdRequests();
    const runId = await trigger();
    if (when === "after") await claimed;
    await two.kill();
    expect((await waiting).runs).toMatchObject([{ runId, attempt: 1 }]);
  });

  test("goes to it when the first is killed right after the trigger, before it has woken the other", async ({ stage }) => {
    const { one, waiting, trigger } = await setUp(stage, async ({ url }) => url);
    const runId = await trigger();
    await one.kill();
    expect((await waiting).runs).toMatchObject([{ runId, attempt: 1 }]);
  });
});

import type { TakenRun, WorkResponse } from "@tidemill/contract";
import { describe, expect } from "vitest";
import type { Client } from "../harness/client.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const RUNS = 40;
const FLOW = "caller";

const work = (client: Client, body: object): Promise<WorkResponse> => client.ok("POST", "/v1/work", { worker: "w1", queues: [], ...body });

/** Starts runs that each make one call. */
async function startRuns(client: Client, url: string): Promise<void> {
  await client.ok("PUT", `/v1/workflows/${FLOW}`, {});
  for (let n = 0; n < RUNS; n += 1) await client.ok("POST", `/v1/workflows/${FLOW}/trigger`, {});
  const { runs } = await work(client, { workflows: [FLOW], limit: RUNS });
  const steps = [{ key: "call", type: "http", status: "waiting", http: { url, method: "POST", timeout: 900_000 } }];
  const settle = runs.map(({ runId, lease_token }) => ({ id: runId, lease_token, outcome: "suspended", steps }));
  const { settled } = await work(client, { settle });
  expect([runs.length, settled.every(({ ok }) => ok)]).toEqual([RUNS, true]);
}

/** Takes all runs, whose calls have their outcomes. A call is repeated while the database is away. */
async function takeAll(client: Client): Promise<TakenRun[]> {
  const taken: TakenRun[] = [];
  const more = async () => {
    const { status, body } = await client.api("POST", "/v1/work", { worker: "w1", queues: [], workflows: [FLOW], limit: RUNS });
    if (status === 200) taken.push(...body.runs);
    return taken.length >= RUNS;
  };
  await until(more, "every run to go on");
  return taken;
}

const expectOutcomes = (taken: readonly TakenRun[]) => {
  expect(new Set(taken.map(({ runId }) => runId)).size).toBe(RUNS);
  const outcomes = taken.flatMap(({ journal }) => journal.map(({ key, status, attempt }) => `${key} ${status} ${attempt}`));
  expect(outcomes).toEqual(taken.map(() => "call completed 1"));
};

describe("calls of http steps", () => {
  test("that are in flight when their node is killed are repeated with the same Idempotency-Key, and use no attempt", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url };
    const server = await stage.handler("hang");
    const first = await stage.node(settings);
    await startRuns(first.client, server.url);
    await until(() => server.open === RUNS, "every call to be in flight");
    await first.kill();
    await first.endLease((text) => database.query(text));
    await until(() => server.open === 0, "its connections to be gone");
    server.answers = 200;
    const second = await stage.node(settings);
    expectOutcomes(await takeAll(second.client));
    const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
    expect([keys.length, new Set(keys).size]).toEqual([2 * RUNS, RUNS]);
  });

  test("have their outcomes when PostgreSQL is killed as they end", async ({ stage }) => {
    const cluster = await stage.cluster();
    const server = await stage.handler("hang");
    const node = await stage.node({ DATABASE_URL: cluster.url() });
    await startRuns(node.client, server.url);
    await until(() => server.open === RUNS, "every call to be in flight");
    server.answers = 200;
    server.release(200, RUNS / 2);
    await cluster.stop("killed");
    server.release();
    await cluster.start();
    expectOutcomes(await takeAll(node.client));
  });
});

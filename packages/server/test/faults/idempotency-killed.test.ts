import { expect } from "vitest";
import type { Client } from "../harness/client.ts";
import { ask, postmasterOf } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const CLIENTS = 16;
/** The keys of one pair of clients. Both send each key until they have a response. */
const KEYS_EACH = 60;

/** Callers that repeat each job until it is acknowledged, by any node. */
class Callers {
  client: Client;
  readonly acknowledged = new Map<string, Set<string>>();
  /** 201 for whoever came first with a job, 200 for the others. */
  readonly statuses = new Set<number>();
  readonly #all: Promise<unknown>;

  constructor(client: Client, queue: string) {
    this.client = client;
    this.#all = Promise.all(Array.from({ length: CLIENTS }, (_, number) => this.#send(queue, number)));
  }

  done(): Promise<unknown> {
    return this.#all;
  }

  async #send(queue: string, number: number): Promise<void> {
    for (let n = 0; n < KEYS_EACH; n += 1) {
      const key = `pair-${number >> 1}-key-${n}`;
      // Every tenth is sent in a batch, together with the one before it.
      const jobs = (n % 10 === 0 && n > 0 ? [n, n - 1] : [n]).map((one) => `pair-${number >> 1}-key-${one}`);
      const sent = jobs.map((one) => ({ payload: one, idempotencyKey: one }));
      await until(async () => {
        const [path, body] = sent.length > 1 ? ["jobs/batch", sent] : ["jobs", sent[0]];
        const reply = await this.client.api("POST", `/v1/queues/${queue}/${path}`, body).catch(() => null);
        if (reply?.status !== 200 && reply?.status !== 201) return false;
        this.statuses.add(reply.status);
        for (const job of reply.body.jobs ?? [reply.body]) this.#note(job);
        return true;
      }, `${key} to be acknowledged`);
    }
  }

  #note({ id, idempotencyKey }: { id: string; idempotencyKey: string }): void {
    this.acknowledged.set(idempotencyKey, (this.acknowledged.get(idempotencyKey) ?? new Set()).add(id));
  }
}

const ALL = (CLIENTS / 2) * KEYS_EACH;

/** One job for each key, the one that everybody was told of, and its handler called. */
async function expectOneJobEach(dataDir: string, { client, acknowledged, statuses }: Callers, received: readonly unknown[]) {
  expect(statuses).toEqual(new Set([200, 201]));
  expect(acknowledged.size).toBe(ALL);
  expect([...acknowledged.values()].filter((ids) => ids.size !== 1)).toEqual([]);
  const [stored] = await ask<{ jobs: string; keys: string; known: string }>(
    dataDir,
    `select (select count(*) from job_record) as jobs, (select count(distinct idempotency_key) from job_record) as keys,
       (select count(*) from idempotency_key k join job_record r on r.id = k.job_id and r.idempotency_key = k.key) as known`,
  );
  expect(stored).toEqual({ jobs: String(ALL), keys: String(ALL), known: String(ALL) });
  expect((await client.ok("GET", "/v1/usage")).executions.total).toBe(ALL);
  expect(new Set(received).size).toBe(ALL);
}

test.for([
  ["without a limit", null],
  ["with a quota", 1_000_000],
] as const)(
  "each key %s has one job when nodes are killed while callers repeat what was not acknowledged",
  async ([, limit], { stage }) => {
    const dataDir = stage.migratedDataDir();
    const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "2" };
    const handler = await stage.handler();
    let node = await stage.node(settings);
    const queue = await node.client.queue("called", handler.url);
    await ask(dataDir, `update workspace set executions_per_month = ${limit}`);
    const callers = new Callers(node.client, queue);
    for (const round of [1, 2]) {
      await until(() => callers.acknowledged.size >= (round * ALL) / 3, "some jobs to be acknowledged");
      await node.kill();
      node = await stage.node(settings);
      callers.client = node.client;
    }
    await callers.done();
    await until(async () => (await callers.client.states(queue)).completed === ALL, "every job to complete");
    await expectOneJobEach(dataDir, callers, handler.payloads);
  },
);

test("each key has one job when PostgreSQL is killed while callers repeat what was not acknowledged", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const handler = await stage.handler();
  const node = await stage.node({ TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "3" });
  const queue = await node.client.queue("called", handler.url);
  const callers = new Callers(node.client, queue);
  for (const round of [1, 2]) {
    await until(() => callers.acknowledged.size >= (round * ALL) / 3, "some jobs to be acknowledged");
    const killed = postmasterOf(dataDir) as number;
    process.kill(killed, "SIGKILL");
    await until(async () => postmasterOf(dataDir) !== killed && (await node.client.status("/readyz")) === 200, "PostgreSQL to be back");
  }
  await callers.done();
  await until(async () => (await node.client.states(queue)).completed === ALL, "every job to complete");
  expect(node.ended).toBeNull();
  await expectOneJobEach(dataDir, callers, handler.payloads);
});

import { expect } from "vitest";
import { type Database, sql } from "#kernel";
import type { Reply } from "../harness/ask.ts";
import type { TestDatabase } from "../harness/database.ts";
import { test } from "../harness/engine.ts";
import { hold } from "../harness/locks.ts";
import { joinedBy } from "../harness/nodes.ts";
import { type Service, until } from "../harness/service.ts";

const CLIENTS = 64;
type Sent = Record<string, unknown>;

const listed = async (service: Service, queue: string): Promise<{ id: string; idempotencyKey: string }[]> =>
  (await service.ok("GET", `/v1/queues/${queue}/jobs?limit=100`)).data;

/** The nodes on which clients race: the file's node, or this one and another. */
async function nodesOf(service: Service, count: number, onTestFinished: (end: () => Promise<void>) => void): Promise<Service[]> {
  if (count === 1) return [service];
  const other = await joinedBy(service);
  onTestFinished(() => other.node.stop());
  return [service, other];
}

/** How many enqueues wait in the database for a lock, after they took an idempotency key or while another has it. */
const countWaitingEnqueues = async (database: TestDatabase): Promise<number> =>
  (
    await database.query(`
      select from pg_locks waiting join pg_locks taken using (pid)
      where not waiting.granted and taken.granted and taken.relation = 'idempotency_key'::regclass and taken.mode = 'RowExclusiveLock'`)
  ).length;

/** All clients at once; but one of them has the key before the others come, and has still to store its job. */
async function raceWith(
  { engine, database, nodes }: { engine: Database; database: TestDatabase; nodes: number },
  send: (number: number) => Promise<Reply>,
  first: number,
): Promise<Reply[]> {
  const replies: Promise<Reply>[] = [];
  const others = Array.from({ length: CLIENTS }, (_, number) => number).filter((number) => number !== first);
  const held = hold(engine, sql`lock table job in share mode`);
  await held.held;
  try {
    replies[first] = send(first);
    await until(async () => (await countWaitingEnqueues(database)) > 0, "the first client to have the key");
    for (const number of others) replies[number] = send(number);
    // A node writes one batch after the other, so that only another node asks for the key meanwhile.
    if (nodes > 1) await until(async () => (await countWaitingEnqueues(database)) > 1, "the other node to ask for the key");
  } finally {
    await held.release();
  }
  return Promise.all(replies);
}

test.for([1, 2])(
  "64 clients that send one key at once, over %i nodes, make one job and all get its id",
  async (count, { service, engine, onTestFinished }) => {
    const nodes = await nodesOf(service, count, onTestFinished);
    const handler = await service.handler();
    const winners = new Set<number>();
    for (const [round, idempotencyKey] of ["one", "two", "three"].entries()) {
      const send = (number: number) =>
        (nodes[number % count] as Service).api("POST", `/v1/queues/${handler.queue}/jobs`, { payload: idempotencyKey, idempotencyKey });
      const replies = await raceWith({ engine, database: service.database, nodes: count }, send, round);
      winners.add(replies.findIndex(({ status }) => status === 201) % count);
      expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1);
      expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(replies.filter(({ status, body }) => status === 200 && body.duplicate)).toHaveLength(CLIENTS - 1);
    }
    expect(winners.size).toBe(count);
    await service.untilIdle();
    expect(handler.payloads.toSorted()).toEqual(["one", "three", "two"]);
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(3);
  },
);

test.for([1, 2])(
  "64 clients whose batches overlap in opposite orders, over %i nodes, wait for nobody in a circle",
  async (count, { service, onTestFinished }) => {
    const nodes = await nodesOf(service, count, onTestFinished);
    const queue = await service.queue();
    const keys = Array.from({ length: 89 }, (_, n) => `key-${n}`);
    const jobsOf = (number: number): Sent[] => {
      const own = keys.slice(number % 30, (number % 30) + 60);
      // Some share a concurrency key, which is locked after the idempotency keys.
      const jobs = own.map((key) => ({ payload: key, idempotencyKey: key, concurrencyKey: key.endsWith("7") ? "shared" : key }));
      return number % 2 === 0 ? jobs : jobs.toReversed();
    };
    const replies = await Promise.all(
      Array.from({ length: CLIENTS }, (_, number) =>
        (nodes[(number >> 1) % count] as Service).api("POST", `/v1/queues/${queue}/jobs/batch`, jobsOf(number)),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201]));
    const stored = await listed(service, queue);
    expect(stored.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual(keys.toSorted());
    const ids = new Map(stored.map(({ id, idempotencyKey }) => [idempotencyKey, id]));
    for (const { body } of replies)
      for (const job of body.jobs as { id: string; idempotencyKey: string }[]) expect(job.id).toBe(ids.get(job.idempotencyKey));
    expect((await service.ok("GET", "/v1/usage")).executions.total).toBe(89);
  },
);

test.for([1, 2])(
  "64 clients that race for the key of a removed job, over %i nodes, make one job",
  async (count, { service, engine, onTestFinished }) => {
    const nodes = await nodesOf(service, count, onTestFinished);
    const queue = await service.queue();
    let last = "";
    const winners = new Set<number>();
    const send = (number: number) =>
      (nodes[number % count] as Service).api("POST", `/v1/queues/${queue}/jobs`, { payload: 1, idempotencyKey: "k" });
    for (let round = 0; round < 5; round += 1) {
      // In the first two rounds one node and then the other is first. The others meet by chance.
      const replies = await (round < 2
        ? raceWith({ engine, database: service.database, nodes: count }, send, round)
        : Promise.all(Array.from({ length: CLIENTS }, (_, number) => send(number))));
      winners.add(replies.findIndex(({ status }) => status === 201) % count);
      const ids = new Set(replies.map(({ body }) => body.id as string));
      expect([ids.size, ids.has(last), replies.filter(({ status }) => status === 201).length]).toEqual([1, false, 1]);
      [last = ""] = ids;
      // Cancelled, then removed.
      await service.ok("DELETE", `/v1/queues/${queue}/jobs/${last}`);
      await service.ok("DELETE", `/v1/queues/${queue}/jobs/${last}`);
    }
    expect(winners.size).toBe(count);
  },
);

test("clients with another body than the one that won are refused, whoever won", async ({ service, engine }) => {
  const winners = new Set<unknown>();
  for (const first of [0, 1]) {
    const queue = await service.queue();
    const send = (number: number) => service.api("POST", `/v1/queues/${queue}/jobs`, { payload: number % 2, idempotencyKey: "k" });
    const replies = await raceWith({ engine, database: service.database, nodes: 1 }, send, first);
    const [won] = await listed(service, queue);
    const winner = replies.find(({ status }) => status === 201)?.body;
    winners.add(winner.payload);
    expect(winner.id).toBe(won?.id);
    for (const [number, { status }] of replies.entries()) expect(status === 422).toBe(number % 2 !== winner.payload);
  }
  expect(winners).toEqual(new Set([0, 1]));
});

import { describe, expect } from "vitest";
import { type Database, sql } from "#kernel";
import { sweepDeletedLanesAcrossWorkspaces } from "#retention";
import { sweepBatchKeysAcrossWorkspaces } from "../../src/jobs/sweep-idempotency-keys.ts";
import type { Reply } from "../harness/ask.ts";
import { test } from "../harness/engine.ts";
import { limitedTo } from "../harness/limits.ts";
import { hold } from "../harness/locks.ts";
import { joinedBy } from "../harness/nodes.ts";
import { everythingStored } from "../harness/problem.ts";
import { newWorkspace, Service, until } from "../harness/service.ts";

const JOBS = [{ payload: { n: 1 }, tag: "a" }, { payload: [2] }, { payload: "three", delay: 60 }];

const send = (service: Service, queue: string, jobs: unknown = JOBS, key = "batch-1"): Promise<Reply> =>
  service.api("POST", `/v1/queues/${queue}/jobs/batch`, jobs, { "Idempotency-Key": key });
const idsOf = ({ body }: Reply): string[] => body.jobs.map(({ id }: { id: string }) => id);
const listed = async (service: Service, queue: string): Promise<{ id: string }[]> =>
  (await service.ok("GET", `/v1/queues/${queue}/jobs?limit=100`)).data;
const executionsOf = async (service: Service): Promise<number> => (await service.ok("GET", "/v1/usage")).executions.total;

describe("a batch that is sent again with its key", () => {
  test("a batch that is sent again with its key stores nothing: the response has the jobs of the first", async ({ service }) => {
    const queue = await service.queue();
    const first = await send(service, queue);
    const before = await everythingStored(service.database);
    const again = await send(service, queue);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.jobs).toEqual(first.body.jobs.map((job: object) => ({ ...job, duplicate: true })));
    expect(await everythingStored(service.database)).toEqual(before);
    expect(await executionsOf(service)).toBe(3);
  });

  test("a batch that is sent again with its key may be the object or the bare array", async ({ service }) => {
    const queue = await service.queue();
    const first = await send(service, queue, { jobs: JOBS });
    expect(idsOf(await send(service, queue, JOBS))).toEqual(idsOf(first));
  });

  test("a batch that is sent again with its key shows its jobs as they are now", async ({ service }) => {
    const handler = await service.handler({
      answers: () => ({ status: 200, headers: { "content-type": "application/json" }, body: "[1]" }),
    });
    await send(service, handler.queue);
    await service.untilIdle();
    const { body } = await send(service, handler.queue);
    expect(body.jobs.map(({ state, result, payload }: Record<string, unknown>) => [state, result, payload])).toEqual(
      JOBS.map(({ payload }) => ["completed", [1], payload]),
    );
    expect(handler.received).toHaveLength(3);
  });

  test("a batch that is sent again with its key gives its jobs no keys of their own", async ({ service }) => {
    const queue = await service.queue();
    const { body } = await send(service, queue);
    expect(body.jobs.map(({ idempotencyKey }: { idempotencyKey: null }) => idempotencyKey)).toEqual([null, null, null]);
  });

  test("a batch that is sent again with its key is not stored again when a job of it was removed", async ({ service }) => {
    const queue = await service.queue();
    const [, second = ""] = idsOf(await send(service, queue));
    await service.api("DELETE", `/v1/queues/${queue}/jobs/${second}`);
    await service.api("DELETE", `/v1/queues/${queue}/jobs/${second}`);
    const again = await send(service, queue);
    expect([again.status, again.body.error.details]).toEqual([404, { resource: "job", id: second, queue }]);
    expect(await listed(service, queue)).toHaveLength(2);
  });

  test("a batch that is sent again with its key shows results as far as 4 MiB reach", async ({ service }) => {
    const result = JSON.stringify("r".repeat(60_000));
    const handler = await service.handler({ answers: { status: 200, body: result, headers: { "content-type": "application/json" } } });
    const jobs = Array.from({ length: 80 }, (_, n) => ({ payload: n }));
    await send(service, handler.queue, jobs);
    await service.untilIdle();
    const { body } = await send(service, handler.queue, jobs);
    const shown = body.jobs.filter((job: { result: unknown }) => job.result !== null).length;
    expect(shown).toBe(Math.floor((4 * 1024 * 1024) / result.length));
  });
});

describe("the key of a batch", () => {
  test("the key of a batch with other jobs is refused, and nothing is stored", async ({ service }) => {
    const queue = await service.queue();
    await send(service, queue);
    const before = await everythingStored(service.database);
    for (const jobs of [JOBS.slice(1), JOBS.toReversed(), [...JOBS, { payload: 4 }], JOBS.map((job) => ({ ...job, priority: 1 }))]) {
      const { status, body } = await send(service, queue, jobs);
      expect([status, body.error.code, body.error.details]).toEqual([
        422,
        "IDEMPOTENCY_MISMATCH",
        { idempotencyKey: "batch-1", index: null },
      ]);
    }
    expect(await everythingStored(service.database)).toEqual(before);
  });

  test("the key of a batch is another one in another queue, and in another workspace", async ({ service }) => {
    const { node, database, clock } = service;
    const other = new Service(node, database, clock, await newWorkspace(database));
    const statuses = [];
    for (const [workspace, queue] of [
      [service, await service.queue()],
      [service, await service.queue()],
      [other, await other.queue()],
    ] as const)
      statuses.push((await send(workspace, queue)).status);
    expect(statuses).toEqual([201, 201, 201]);
  });

  test("the key of a batch is another one than that of a job", async ({ service }) => {
    const queue = await service.queue();
    await service.enqueue({ queue, payload: 1, idempotencyKey: "batch-1" });
    expect((await send(service, queue, [{ payload: 1 }])).status).toBe(201);
  });

  test("the key of a batch whose jobs have keys of their own is refused", async ({ service }) => {
    const queue = await service.queue();
    const { status, body } = await send(service, queue, { jobs: [{ payload: 1 }, { payload: 2, idempotencyKey: "own" }] });
    expect([status, body.error.details.issues]).toEqual([
      400,
      [{ path: "jobs[1].idempotencyKey", message: "cannot be given together with the header idempotency-key" }],
    ]);
  });

  test.for([
    ["that is empty", ""],
    ["over 256 characters", "x".repeat(257)],
    ["of other characters than ASCII", "\u00e9"],
  ])("the key of a batch %s is refused", async ([, key = ""], { service }) => {
    const { status, body } = await send(service, await service.queue(), JOBS, key);
    expect([status, body.error.details.issues[0].path]).toEqual([400, "idempotency-key"]);
  });

  test("the key of a batch in a queue that does not exist is not taken", async ({ service }) => {
    expect((await send(service, "later")).status).toBe(404);
    await service.ok("POST", "/v1/queues", { name: "later" });
    expect((await send(service, "later")).status).toBe(201);
  });

  test("the key of a batch is free after a day, and not before", async ({ service, engine }) => {
    const queue = await service.queue();
    const first = await send(service, queue);
    await service.advance(86_399);
    await sweepBatchKeysAcrossWorkspaces(engine);
    expect(idsOf(await send(service, queue))).toEqual(idsOf(first));
    await service.advance(1);
    await sweepBatchKeysAcrossWorkspaces(engine);
    expect((await send(service, queue)).status).toBe(201);
  });
});

describe("the month's executions, with keys of batches,", () => {
  test("the month's executions are used by a batch once, and its repeat is answered when none are left", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 });
    const queue = await limited.queue();
    const first = await send(limited, queue);
    const again = await send(limited, queue);
    expect([again.status, idsOf(again)]).toEqual([200, idsOf(first)]);
    expect((await limited.ok("GET", "/v1/status")).quota.used).toBe(3);
  });

  test("the month's executions leave nothing behind when they refuse a batch: no key, no row", async ({ service }) => {
    const limited = await limitedTo(service, { executions_per_month: 3 });
    const queue = await limited.queue();
    await limited.enqueue({ queue });
    const before = await everythingStored(service.database);
    expect((await send(limited, queue)).status).toBe(402);
    expect(await everythingStored(service.database)).toEqual(before);
    expect((await send(limited, queue, JOBS.slice(1))).status).toBe(201);
  });
});

const CLIENTS = 32;

/** All clients send at once, while the jobs of the first cannot be stored yet. */
async function race(engine: Database, database: Service["database"], send: (client: number) => Promise<Reply>): Promise<Reply[]> {
  const held = hold(engine, sql`lock table job in share mode`);
  await held.held;
  const replies = [send(0)];
  try {
    await until(
      async () => (await database.query("select from pg_locks where not granted and relation = 'job'::regclass")).length > 0,
      "the first client to have the key",
    );
    for (let client = 1; client < CLIENTS; client += 1) replies.push(send(client));
  } finally {
    await held.release();
  }
  return Promise.all(replies);
}

test.for([
  ["one node", 1, null],
  ["one node, with a quota", 1, 1_000],
  ["two nodes", 2, null],
  ["two nodes, with a quota", 2, 1_000],
] as const)(
  "clients that send one batch at once, to %s, make its jobs once",
  async ([, nodes, limit], { service, engine, onTestFinished }) => {
    const owner = limit === null ? service : await limitedTo(service, { executions_per_month: limit });
    const services = [owner];
    if (nodes > 1) {
      const other = await joinedBy(owner);
      onTestFinished(() => other.node.stop());
      services.push(other);
    }
    const handler = await owner.handler();
    const replies = await race(engine, service.database, (client) => send(services[client % nodes] as Service, handler.queue));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(CLIENTS - 1);
    expect(new Set(replies.flatMap(idsOf)).size).toBe(3);
    await owner.untilIdle();
    expect(handler.received).toHaveLength(3);
    expect(await executionsOf(owner)).toBe(3);
  },
);

test("a batch of one job with a key is started eagerly, once", async ({ service }) => {
  const handler = await service.handler();
  await Promise.all(Array.from({ length: 8 }, () => send(service, handler.queue, [{ payload: 1 }])));
  await service.untilIdle();
  expect(handler.received).toHaveLength(1);
});

test("batches of many keys that are written together each get their own jobs", async ({ service }) => {
  const queue = await service.queue();
  const replies = await Promise.all(Array.from({ length: 40 }, (_, n) => send(service, queue, [{ payload: n >> 1 }], `batch-${n >> 1}`)));
  for (const [n, { body }] of replies.entries()) expect(body.jobs[0].payload).toBe(n >> 1);
  expect(await listed(service, queue)).toHaveLength(20);
  expect(await executionsOf(service)).toBe(20);
});

test("the keys of batches go with their queue", async ({ service, database, engine, clock }) => {
  const queue = await service.queue();
  await send(service, queue);
  await service.ok("DELETE", `/v1/queues/${queue}`);
  await clock.set(clock.nowMs() + 61_000);
  await sweepDeletedLanesAcrossWorkspaces(engine, () => {});
  const ofWorkspace = "select from batch_key where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea))";
  expect(await database.query(ofWorkspace, [service.key])).toEqual([]);
});

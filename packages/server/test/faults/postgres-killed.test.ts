import { expect } from "vitest";
import { isRunning, postmasterOf } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

test("an embedded PostgreSQL that is killed is started again, and jobs go on", async ({ stage }) => {
  const dataDir = stage.migratedDataDir();
  const node = await stage.node({ TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "3" });
  const { client } = node;
  const handler = await stage.handler("hang");
  const queue = await client.queue("mails", handler.url, { defaultJobOptions: { attempts: 100 } });
  const acknowledged = await client.enqueueMany(queue, 50);
  await until(() => handler.open === 50, "the jobs to be in flight");

  for (const round of [1, 2]) {
    const killed = postmasterOf(dataDir) as number;
    process.kill(killed, "SIGKILL");
    await until(async () => (await client.status("/readyz")) === 503 || !(await isRunning(killed)), "PostgreSQL to be away");
    await until(async () => postmasterOf(dataDir) !== killed && (await client.status("/readyz")) === 200, "PostgreSQL to be back");
    // It serves requests before the node has checked it. One that dies meanwhile has not started, and its death is not logged.
    await until(() => node.logged("postgres_started") === round + 1, "its start to be logged");
    expect(await isRunning(killed)).toBe(false);
    acknowledged.push(...(await client.enqueueMany(queue, 50)));
    expect(node.logged("postgres_died")).toBe(round);
  }
  handler.answers = 200;
  handler.release();
  await until(async () => (await client.states(queue)).completed === acknowledged.length, "every job to complete");
  expect(new Set(handler.received.map(({ body }) => body.id))).toEqual(new Set(acknowledged));
  expect(node.ended).toBeNull();

  const last = postmasterOf(dataDir) as number;
  node.signal("SIGTERM");
  expect(await node.end()).toEqual({ code: 0, signal: null });
  expect(await isRunning(last)).toBe(false);
});

test("what was acknowledged before a node and its PostgreSQL were killed together completes after the next start", async ({ stage }) => {
  const settings = { TIDEMILL_DATA_DIR: stage.migratedDataDir(), TIDEMILL_NODE_LEASE_SECONDS: "2" };
  const node = await stage.node(settings);
  const handler = await stage.handler(({ body }) => (body.attempt === 1 ? "hang" : 200));
  const queue = await node.client.queue("mails", handler.url);
  const acknowledged = await node.client.enqueueMany(queue, 50);
  await until(() => handler.open === 50, "the jobs to be in flight");
  acknowledged.push(...(await node.client.enqueueMany(queue, 50, { delay: 1 })));
  const last = await node.client.enqueueMany(queue, 500);
  process.kill(postmasterOf(settings.TIDEMILL_DATA_DIR) as number, "SIGKILL");
  await node.kill();

  handler.answers = 200;
  const next = await stage.node(settings);
  expect([next.logged("postgres_adopted"), next.logged("postgres_started")]).toEqual([0, 1]);
  await until(async () => (await next.client.states(queue)).completed === 600, "every job to complete");
  expect(new Set(handler.received.map(({ body }) => body.id))).toEqual(new Set([...acknowledged, ...last]));
  const attempts = handler.received.map(({ body }) => `${body.id} ${body.attempt}`);
  expect(attempts).toHaveLength(new Set(attempts).size);
});

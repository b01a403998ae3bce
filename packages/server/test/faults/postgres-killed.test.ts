import { expect } from "vitest";
import { isRunning, postmasterOf } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

test("an embedded PostgreSQL that is killed is started again, and jobs go on", async ({ stage }) => {
  const dataDir = stage.dataDir();
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
    expect(await isRunning(killed)).toBe(false);
    acknowledged.push(...(await client.enqueueMany(queue, 50)));
    await until(() => node.logged("postgres_died") === round, "its death to be logged");
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

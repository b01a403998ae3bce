import { expect } from "vitest";
import { ask } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

test.for([
  ["without a limit", null],
  ["with a quota", 1_000_000],
] as const)("usage %s is what was accepted after its node was killed in the middle", async ([, limit], { stage }) => {
  const dataDir = stage.migratedDataDir();
  const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_NODE_LEASE_SECONDS: "2" };
  const handler = await stage.handler();
  const first = await stage.node(settings);
  const queues = [await first.client.queue("called", handler.url), "waiting"] as const;
  await first.client.ok("POST", "/v1/queues", { name: queues[1] });
  // A node that knows of one limit knows of both.
  await ask(dataDir, `update workspace set executions_per_month = ${limit}, requests_per_minute = ${limit}`);
  const limited = async () => (await first.client.api("GET", "/v1/queues")).headers.has("x-ratelimit-limit");
  await until(async () => (await limited()) === (limit !== null), "the node to know of the limit");
  let acknowledged = 0;
  let going = true;
  const clients = Array.from({ length: 16 }, async (_, number) => {
    const queue = queues[number % 2] as string;
    const size = number % 4 === 0 ? 5 : 1;
    while (going) {
      const taken = await (size === 1 ? first.client.enqueue(queue) : first.client.enqueueMany(queue, size)).then(
        () => true,
        () => false,
      );
      if (!taken) return;
      acknowledged += size;
    }
  });
  await until(() => acknowledged >= 500, "some jobs to be accepted");
  await first.kill();
  going = false;
  await Promise.all(clients);

  const second = await stage.node(settings);
  const usage = async () => await second.client.ok("GET", "/v1/usage");
  const isDone = ({ waiting, active }: Record<string, number>) => waiting === 0 && active === 0;
  await until(async () => isDone(await second.client.states("called")), "the deliveries to settle");
  const [recount] = await ask<{ jobs: string; attempts: string }>(
    dataDir,
    `select (select count(*) from job_record) as jobs,
       (select count(*) from job_history, json_array_elements(('[' || attempts_log || ']')::json) entry where entry ->> 'outcome' = 'completed') as attempts`,
  );
  const { executions, attempts, by_queue } = await usage();
  expect(executions.total).toBe(Number(recount?.jobs));
  expect(executions.total).toBeGreaterThanOrEqual(acknowledged);
  expect(attempts).toEqual({ total: Number(recount?.attempts), succeeded: Number(recount?.attempts), failed: 0 });
  expect(by_queue.reduce((sum: number, one: { executions: number }) => sum + one.executions, 0)).toBe(executions.total);
  expect(await second.client.ok("GET", "/v1/status")).toMatchObject({ quota: { used: executions.total, limit } });
  const quota = await ask<{ used: string }>(dataDir, "select used from quota_month");
  expect(quota).toEqual(limit === null ? [] : [{ used: String(executions.total) }]);
});

import { expect } from "vitest";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

test("a node on a database that becomes read-only is not ready, says why, and works again by itself", async ({ stage }) => {
  const cluster = await stage.cluster();
  const setReadOnly = async (value: "on" | "off") => {
    await cluster.query(`alter system set default_transaction_read_only = ${value}`);
    await cluster.query("select pg_reload_conf()");
  };
  const node = await stage.node({ DATABASE_URL: cluster.url(), TIDEMILL_NODE_LEASE_SECONDS: "2" });
  const { client } = node;
  const handler = await stage.handler();
  const queue = await client.queue("mails", handler.url);

  await setReadOnly("on");
  await until(async () => (await client.status("/readyz")) === 503, "the node not to be ready");
  const refused = { status: 503, body: { error: { code: "UNAVAILABLE", message: "The database accepts no writes at the moment." } } };
  expect(await client.api("GET", "/readyz")).toMatchObject(refused);
  expect(await client.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1 })).toMatchObject(refused);
  expect(await client.status("/healthz")).toBe(200);
  for (const event of ["database_writes_refused", "requests_refused_by_database", "node_lease_lost"])
    await until(() => node.logged(event) > 0, `${event} to be logged`);
  const { stdout } = await stage.run(["doctor"], { DATABASE_URL: cluster.url() });
  expect(stdout).toContain("database role\tfailed\tIt refuses writes: default_transaction_read_only is on");

  await setReadOnly("off");
  await until(async () => (await client.status("/readyz")) === 200, "the node to be ready again");
  const id = await client.enqueue(queue);
  await until(async () => (await client.job(queue, id)).state === "completed", "a job to complete");
  expect([node.logged("database_writes_refused"), node.logged("database_writes_resumed")]).toEqual([1, 1]);
  // One for each cause.
  expect(node.logged("loop_failed")).toBeLessThanOrEqual(2);
});

import pg from "pg";
import { describe, expect } from "vitest";
import type { Cluster } from "../harness/cluster.ts";
import { until } from "../harness/service.ts";
import { type Stage, test } from "../harness/stage.ts";

const ROLE = "few";

/** A PostgreSQL with a role that may have `limit` connections, and its own database. */
async function limited(stage: Stage, limit: number): Promise<{ cluster: Cluster; url: string }> {
  const cluster = await stage.cluster();
  await cluster.query(`create role ${ROLE} login connection limit ${limit}`);
  await cluster.query(`create database jobs owner ${ROLE}`);
  return { cluster, url: cluster.url({ user: ROLE, database: "jobs" }) };
}

/** Opens sessions of the role, as other nodes and programs do. */
async function hold(stage: Stage, url: string, sessions: number): Promise<void> {
  for (let n = 0; n < sessions; n += 1) {
    const client = new pg.Client(url);
    client.on("error", () => {});
    await client.connect();
    stage.finally(() => client.end());
  }
}

/** Checks that jobs are delivered which a node must claim: those of a schedule, and those that were delayed. */
async function deliversClaimedJobs(stage: Stage, client: Awaited<ReturnType<Stage["node"]>>["client"]): Promise<void> {
  const handler = await stage.handler();
  const queue = await client.queue("mails", handler.url);
  await client.ok("POST", "/v1/schedules", { name: "ticks", queue, cron: "* * * * * *", timezone: "UTC", payload: {} });
  await client.enqueueMany(queue, 20, { delay: 1 });
  await until(async () => ((await client.states(queue)).completed ?? 0) >= 23, "ticks and delayed jobs to be delivered");
}

describe("a node with fewer database connections than it may open", () => {
  test.for([8, 12])("does not start if its role may have only %i of 24, and says so", async (limit, { stage }) => {
    const { url } = await limited(stage, limit);
    const settings = { DATABASE_URL: url, TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" };
    const { code, stdout, stderr } = await stage.run(["up"], settings);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `tidemill: The role "${ROLE}" may have ${limit} connections (its CONNECTION LIMIT), but a node opens up to 24 ` +
        `(TIDEMILL_DATABASE_CONNECTIONS). Raise the limit, or set TIDEMILL_DATABASE_CONNECTIONS to ${limit - 1} or fewer.\n`,
    });
  });

  test.for([8])("delivers schedules and delayed jobs if its role may have %i and it wants no more", async (limit, { stage }) => {
    const { url } = await limited(stage, limit);
    const node = await stage.node({ DATABASE_URL: url, TIDEMILL_DATABASE_CONNECTIONS: String(limit) });
    await deliversClaimedJobs(stage, node.client);
    expect(node.logged("database_connections_limited")).toBe(0);
  });

  test.for([8, 12])("warns, and delivers schedules and delayed jobs, if others leave it %i of 24", async (free, { stage }) => {
    const { url } = await limited(stage, 30);
    await hold(stage, url, 30 - free);
    const node = await stage.node({ DATABASE_URL: url });
    expect(node.events.find(({ msg }) => msg === "database_connections_limited")).toMatchObject({ free, wanted: 24 });
    await deliversClaimedJobs(stage, node.client);
    await until(() => node.logged("database_connections_refused") > 0, "the refusals to be logged");
  });

  test.for([8])(
    "delivers schedules and delayed jobs if its role gets a limit of %i while it runs, and its connections break",
    async (limit, { stage }) => {
      const { cluster, url } = await limited(stage, 30);
      const { client } = await stage.node({ DATABASE_URL: url });
      await cluster.query(`alter role ${ROLE} connection limit ${limit}`);
      await cluster.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${ROLE}'`);
      // Requests take all connections that there are.
      await Promise.all(Array.from({ length: 30 }, () => client.status("/v1/queues")));
      await until(async () => (await client.status("/readyz")) === 200, "the node to reach its database");
      await deliversClaimedJobs(stage, client);
    },
  );

  test("does not start if others leave it 6", async ({ stage }) => {
    const { url } = await limited(stage, 30);
    await hold(stage, url, 24);
    const { code, stderr } = await stage.run(["up"], { DATABASE_URL: url, TIDEMILL_PORT: "0", TIDEMILL_INTERNAL_PORT: "0" });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/, and 24 are in use. A node needs at least 7\. [^\n]+\n$/),
    });
  });
});

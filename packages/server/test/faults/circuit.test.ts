import { describe, expect } from "vitest";
import type { Client } from "../harness/client.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const ONCE = { callback_timeout: 60, defaultJobOptions: { attempts: 1 } };
const circuitOf = async (client: Client, queue: string) => (await client.ok("GET", `/v1/queues/${queue}`)).circuit;

describe("a circuit", () => {
  test("a circuit opens though the database falls silent just then; no attempt is lost, and none counts twice", async ({ stage }) => {
    const wire = await stage.wire(await stage.database());
    const { client } = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_STATEMENT_TIMEOUT_MS: "3000" });
    const handler = await stage.handler("hang");
    const queue = await client.queue("mails", handler.url, ONCE);
    const ids = await client.enqueueMany(queue, 30);
    await until(() => handler.open === 30, "every attempt to be under way");
    wire.holdRequests();
    handler.release(500);
    await until(async () => (await client.status("/readyz")) === 503, "the database to be missed");
    wire.release();
    await until(async () => (await client.status("/readyz")) === 200, "the node to be ready again");
    await until(async () => (await client.states(queue)).active === 0, "every attempt to be settled");

    expect((await circuitOf(client, queue)).state).toBe("open");
    handler.answers = 200;
    await until(async () => (await client.states(queue)).waiting === 0, "what waited to flow");
    const records = await Promise.all(ids.map((id) => client.job(queue, id)));
    expect(records.filter(({ state }) => state === "failed")).toHaveLength(20);
    for (const { attempt, attempts_log: log } of records) expect(log).toHaveLength(attempt);
  });

  test("a circuit stays open when its node is killed, and is tried by the next one", async ({ stage }) => {
    const settings = { DATABASE_URL: (await stage.database()).url, TIDEMILL_NODE_LEASE_SECONDS: "2" };
    const handler = await stage.handler(500);
    const first = await stage.node(settings);
    const queue = await first.client.queue("mails", handler.url, ONCE);
    await first.client.enqueueMany(queue, 20);
    await until(async () => (await circuitOf(first.client, queue)).state === "open", "the circuit to open");
    await first.client.enqueueMany(queue, 5);
    await first.kill();
    const { client } = await stage.node(settings);
    expect((await circuitOf(client, queue)).state).toBe("open");
    handler.answers = 200;
    await until(async () => (await client.states(queue)).completed === 5, "what waited to flow");
    expect((await circuitOf(client, queue)).state).toBe("closed");
  });
});

import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { describe, expect } from "vitest";
import { hasPostgres } from "../harness/cluster.ts";
import { KEY } from "../harness/process.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const LONG = { callback_timeout: 900 };

describe("a node that is told to end", () => {
  test.for(["SIGTERM", "SIGINT"] as const)(
    "a node that is told to end by %s finishes what is under way, takes no new requests, and ends with code 0",
    async (signal, { stage }) => {
      const database = await stage.database();
      const node = await stage.node({ DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "600" });
      const handler = await stage.handler("hang");
      const queue = await node.client.queue("mails", handler.url, LONG);
      const id = await node.client.enqueue(queue, { attempts: 1 });
      await until(() => handler.open === 1, "the attempt to be under way");

      node.signal(signal);
      await until(() => node.logged("node_drain_started") === 1, "the node to drain");
      await expect(node.client.enqueue(queue)).rejects.toThrow();
      expect(node.ended).toBeNull();
      handler.release();
      expect(await node.end()).toEqual({ code: 0, signal: null });

      expect(await database.query("select state, attempt, attempts_log from job_history")).toMatchObject([
        { state: "completed", attempt: 1 },
      ]);
      expect(handler.received.map(({ body }) => `${body.id} ${body.attempt}`)).toEqual([`${id} 1`]);
    },
  );

  test("a node that is told to end releases what does not finish in time, without using an attempt", async ({ stage }) => {
    const database = await stage.database();
    const settings = { DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "1" };
    const node = await stage.node(settings);
    // The first attempt hangs. The first attempt that counts fails.
    const handler = await stage.handler(({ body: { attempt } }) => (attempt === 1 ? "hang" : attempt === 2 ? 429 : 200));
    const quickly = { ...LONG, defaultJobOptions: { backoff: { type: "exponential", delay: 20 } } };
    const queue = await node.client.queue("mails", handler.url, quickly);
    const ids = [await node.client.enqueue(queue, { attempts: 2 }), ...(await node.client.enqueueMany(queue, 50, { attempts: 2 }))];
    const waiting = await node.client.enqueueMany(queue, 5, { delay: 3_600 });
    await until(() => handler.open === 51, "the attempts to be under way");

    node.signal("SIGTERM");
    expect(await node.end()).toEqual({ code: 0, signal: null });
    expect(handler.aborted).toBe(51);
    expect(handler.received).toHaveLength(51);
    expect(await database.query("select state, attempt, spared, count(*)::int as jobs from job group by 1, 2, 3 order by 1")).toEqual([
      { state: "waiting", attempt: 1, spared: 1, jobs: 51 },
      { state: "delayed", attempt: 0, spared: 0, jobs: waiting.length },
    ]);
    expect(await database.query("select from lease where expires_at > now()")).toEqual([]);

    const next = await stage.node(settings);
    await until(async () => (await next.client.states(queue)).completed === 51, "the jobs to complete on the next start");
    for (const id of ids) {
      expect(await next.client.job(queue, id)).toMatchObject({
        state: "completed",
        attempt: 3,
        attempts: 3,
        attempts_log: [
          { attempt: 1, outcome: "released", status: null, error: null },
          { attempt: 2, outcome: "failed", status: 429 },
          { attempt: 3, outcome: "completed", status: 200 },
        ],
      });
    }
  });

  test.for(["SIGTERM", "SIGINT"] as const)(
    "a node that is told to end by a second %s ends at once, and its jobs go on after the next start",
    async (signal, { stage }) => {
      const dataDir = stage.migratedDataDir();
      const settings = { TIDEMILL_DATA_DIR: dataDir, TIDEMILL_DRAIN_SECONDS: "600", TIDEMILL_NODE_LEASE_SECONDS: "2" };
      const node = await stage.node(settings);
      const handler = await stage.handler("hang");
      const queue = await node.client.queue("mails", handler.url, LONG);
      await node.client.enqueue(queue);
      await until(() => handler.open === 1, "the attempt to be under way");

      node.signal(signal);
      await until(() => node.logged("node_drain_started") === 1, "the node to drain");
      // A signal right after the first may be the same one, delivered twice.
      await until(() => {
        node.signal(signal);
        return node.ended !== null;
      }, "the node to end");
      expect(node.ended).toMatchObject({ code: 1, signal: null });
      expect(await hasPostgres(dataDir)).toBe(true);

      handler.answers = 200;
      const next = await stage.node(settings);
      expect(next.logged("postgres_adopted")).toBe(1);
      await until(async () => (await next.client.states(queue)).completed === 1, "the job to complete");
    },
  );

  test("a node that is told to end answers a request on an open connection with 503 in the envelope, and closes it", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "600" });
    const handler = await stage.handler("hang");
    const queue = await node.client.queue("mails", handler.url, LONG);
    await node.client.enqueue(queue);
    await until(() => handler.open === 1, "the attempt to be under way");
    // A request whose body is still on its way keeps its connection open through the start of the drain.
    const socket = connect(Number(new URL(node.url).port), "127.0.0.1");
    stage.finally(async () => socket.destroy());
    let heard = "";
    let closed = false;
    socket.setEncoding("utf8").on("error", () => {});
    socket.on("data", (text) => {
      heard += text;
    });
    socket.on("close", () => {
      closed = true;
    });
    const body = '{"payload":1}';
    const head = `POST /v1/queues/${queue}/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head + body.slice(0, 5));
    await until(async () => (await node.client.status("/healthz")) === 200, "the request's head to have arrived");
    node.signal("SIGTERM");
    await until(() => node.logged("node_drain_started") === 1, "the node to drain");

    socket.write(body.slice(5));
    await until(() => /"id":"job_|"error"/.test(heard), "the request under way to be answered");
    expect(heard).toMatch(/^HTTP\/1\.1 201 /);
    heard = "";
    socket.write(head + body);
    await until(() => closed, "the connection to be closed");
    // A connection that closes without a response is fine as well.
    if (heard !== "") {
      expect(heard).toMatch(/^HTTP\/1\.1 503 /);
      expect(JSON.parse(heard.slice(heard.indexOf("{")))).toMatchObject({ error: { code: "UNAVAILABLE", details: {} } });
    }
    handler.release();
    expect(await node.end()).toEqual({ code: 0, signal: null });
  });

  test.for([
    ["that never said a word", ""],
    [
      "whose request never ends",
      `POST /v1/queues HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    ],
  ] as const)("a node that is told to end does not wait for a connection %s", async ([, said], { stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url, TIDEMILL_DRAIN_SECONDS: "1" });
    const socket = connect(Number(new URL(node.url).port), "127.0.0.1", () => socket.write(said));
    stage.finally(async () => socket.destroy());
    socket.on("error", () => {});
    await until(() => socket.readyState === "open", "the connection");
    expect(await node.client.status("/healthz")).toBe(200);
    node.signal("SIGTERM");
    expect(await node.end()).toEqual({ code: 0, signal: null });
  });

  test("a node that is told to end ends though its database is away, and the job whose answer it could not store is delivered again", async ({
    stage,
  }) => {
    const cluster = await stage.cluster();
    const settings = { DATABASE_URL: cluster.url(), TIDEMILL_DRAIN_SECONDS: "600", TIDEMILL_NODE_LEASE_SECONDS: "2" };
    const node = await stage.node(settings);
    const handler = await stage.handler(({ body }) => (body.attempt === 1 ? "hang" : 200));
    const queue = await node.client.queue("mails", handler.url, LONG);
    const id = await node.client.enqueue(queue, { attempts: 1 });
    await until(() => handler.open === 1, "the attempt to be under way");
    await cluster.stop("killed");
    handler.release();
    node.signal("SIGTERM");
    expect(await node.end()).toEqual({ code: 0, signal: null });

    await cluster.start();
    const next = await stage.node(settings);
    await until(async () => (await next.client.job(queue, id)).state === "completed", "the job to complete");
    expect(await next.client.job(queue, id)).toMatchObject({ attempt: 2, attempts_log: [{ outcome: "lost" }, { outcome: "completed" }] });
  });

  test("a node that is told to end lets idle kept-alive connections go", async ({ stage }) => {
    const database = await stage.database();
    const node = await stage.node({ DATABASE_URL: database.url });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    stage.finally(async () => agent.destroy());
    const reply = await new Promise<IncomingMessage>((resolve, reject) =>
      request(`${node.url}/healthz`, { agent }, resolve).on("error", reject).end(),
    );
    reply.resume();
    await until(() => reply.complete, "the reply");
    node.signal("SIGTERM");
    expect(await node.end()).toEqual({ code: 0, signal: null });
  });
});

import { expect } from "vitest";
import type { Reply } from "../harness/ask.ts";
import type { Client } from "../harness/client.ts";
import { until } from "../harness/service.ts";
import { test } from "../harness/stage.ts";

const BETWEEN_REQUESTS_MS = 5;
const BATCH = 20;

/** Callers that keep enqueueing, one job or a batch at a time, and record each acknowledged job. */
class Callers {
  readonly acknowledged: string[] = [];
  readonly refused: Reply[] = [];
  readonly others: string[] = [];
  #stopped = false;
  readonly #done: Promise<unknown>;

  constructor(client: Client, queue: string) {
    const single = { path: `/v1/queues/${queue}/jobs`, body: { payload: 1 } };
    const batch = { path: `${single.path}/batch`, body: { jobs: Array.from({ length: BATCH }, (_, n) => ({ payload: n })) } };
    this.#done = Promise.all([single, single, single, batch].map((request) => this.#call(client, request)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  /** Waits for this many more acknowledged jobs. */
  async untilMore(count: number): Promise<void> {
    const before = this.acknowledged.length;
    await until(() => this.acknowledged.length >= before + count, `${count} more acknowledged jobs; other replies: ${this.others}`);
  }

  async untilRefused(count: number): Promise<void> {
    const before = this.refused.length;
    await until(() => this.refused.length >= before + count, `${count} refusals`);
  }

  async #call(client: Client, { path, body }: { path: string; body: unknown }): Promise<void> {
    while (!this.#stopped) {
      try {
        const reply = await client.api("POST", path, body);
        if (reply.status === 201) this.acknowledged.push(...(reply.body.jobs ?? [reply.body]).map(({ id }: { id: string }) => id));
        else if (reply.status === 503) this.refused.push(reply);
        else this.others.push(`${reply.status} ${reply.text}`);
      } catch (error) {
        this.others.push(`no reply: ${String(error)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_REQUESTS_MS));
    }
  }
}

test.for([
  ["fast", "fast"],
  ["immediate", "killed"],
] as const)(
  "a PostgreSQL that is stopped (%s, %s) and started again loses nothing acknowledged, and callers are asked to come again",
  async (ways, { stage }) => {
    const cluster = await stage.cluster();
    const node = await stage.node({ DATABASE_URL: cluster.url(), TIDEMILL_NODE_LEASE_SECONDS: "3" });
    const { client } = node;
    const handler = await stage.handler();
    const queue = await client.queue("mails", handler.url);
    const callers = new Callers(client, queue);
    stage.finally(() => callers.stop());

    for (const how of ways) {
      await callers.untilMore(100);
      await cluster.stop(how);
      await callers.untilRefused(20);
      expect(await client.status("/healthz")).toBe(200);
      const unready = await client.api("GET", "/readyz");
      expect(unready).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE", details: {} } } });
      const read = await client.api("GET", "/v1/queues");
      expect(read).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE", details: {} } } });
      await cluster.start();
      await until(async () => (await client.status("/readyz")) === 200, "the node to be ready again");
    }
    await callers.untilMore(100);
    await callers.stop();

    expect(callers.others).toEqual([]);
    for (const reply of callers.refused) {
      expect(reply.body.error).toMatchObject({ code: "UNAVAILABLE", message: expect.any(String), details: {} });
      expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const reached = new Set<string>();
    await until(() => {
      for (const { body } of handler.received) reached.add(body.id);
      return callers.acknowledged.every((id) => reached.has(id));
    }, "every acknowledged job to reach its handler");
    await until(async () => {
      const states = await client.states(queue);
      return states.waiting === 0 && states.active === 0 && states.delayed === 0;
    }, "the queue to be empty");
    const [completed] = await cluster.query<{ ids: string[] }>(
      "select array_agg(id::text) as ids from job_history where state = 'completed'",
    );
    const stored = new Set(completed?.ids);
    expect(callers.acknowledged.filter((id) => !stored.has(uuidOf(id)))).toEqual([]);
    const attempts = handler.received.map(({ body }) => `${body.id} ${body.attempt}`);
    expect(attempts).toHaveLength(new Set(attempts).size);
    expect(node.ended).toBeNull();
  },
);

test("a database that falls silent keeps no request hanging, and is taken up again", async ({ stage }) => {
  const wire = await stage.wire(await stage.database());
  const node = await stage.node({ DATABASE_URL: wire.url(), TIDEMILL_STATEMENT_TIMEOUT_MS: "3000" });
  const { client } = node;
  const handler = await stage.handler();
  const queue = await client.queue("mails", handler.url);

  wire.holdResponses();
  const requests = [
    client.api("POST", `/v1/queues/${queue}/jobs`, { payload: 1 }),
    client.api("GET", "/v1/queues"),
    client.api("GET", "/readyz"),
  ];
  expect(await client.status("/healthz")).toBe(200);
  for (const reply of await Promise.all(requests)) {
    expect(reply).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE", details: {} } } });
    expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  wire.release();
  await until(async () => (await client.status("/readyz")) === 200, "the node to be ready again");
  const id = await client.enqueue(queue);
  await until(async () => (await client.job(queue, id)).state === "completed", "a job to complete");
  expect(node.ended).toBeNull();
});

/** Makes a name resolve to two addresses of this machine, as "localhost" does on most machines. */
const TWO_ADDRESSES = `
  import dns from "node:dns";
  const { lookup } = dns;
  const both = [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }];
  dns.lookup = (name, options, done) => name !== "two.addresses" ? lookup(name, options, done)
    : options.all ? done(null, both) : done(null, both[0].address, both[0].family);
  (await import("node:module")).syncBuiltinESMExports();`;

test("a database whose name has two addresses is away when both refuse", async ({ stage }) => {
  const wire = await stage.wire(await stage.database());
  const node = await stage.node({
    DATABASE_URL: wire.url("two.addresses"),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TWO_ADDRESSES)}`,
  });
  expect(await node.client.status("/readyz")).toBe(200);
  await wire.close();
  for (const path of ["/readyz", "/v1/queues"]) {
    expect(await node.client.api("GET", path)).toMatchObject({ status: 503, body: { error: { code: "UNAVAILABLE" } } });
  }
});

const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";

/** The UUID in a TypeID: Crockford's base 32, most significant digit first. */
function uuidOf(id: string): string {
  const value = [...id.slice(id.indexOf("_") + 1)].reduce((sum, digit) => sum * 32n + BigInt(DIGITS.indexOf(digit)), 0n);
  return value
    .toString(16)
    .padStart(32, "0")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

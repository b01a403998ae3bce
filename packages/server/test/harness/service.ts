import {
  createAdminContext,
  createWorkspace,
  DatabaseClock,
  Events,
  type Node,
  readConfig,
  startNode,
  systemRandom,
} from "@tidemill/server";
import { test as base, inject } from "vitest";
import { Database } from "#kernel";
import { ask, bodyOf, type Reply } from "./ask.ts";
import { FrozenClock } from "./clock.ts";
import { TestDatabase } from "./database.ts";
import { type Answers, Handler } from "./handler.ts";
import { FROZEN_AT } from "./postgres.ts";
import { serviceLog } from "./service-log.ts";

/** The master key of every node, so that none creates a key file in the repository. */
export const MASTER_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/** Only ends what hangs. */
const BOUND_MS = 60_000;

/** Polls until a condition holds, for at most a minute. It waits for a condition, never for a duration. */
export async function until(holds: () => boolean | Promise<boolean>, what = "the condition"): Promise<void> {
  const deadline = performance.now() + BOUND_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Waited ${BOUND_MS} ms in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

/** A workspace of a running node, used over HTTP. Tests can also set the time and query the database. */
export class Service {
  readonly node: Node;
  readonly database: TestDatabase;
  readonly clock: FrozenClock;
  readonly key: string;
  readonly workspaceId: string;
  readonly #handlers: Handler[] = [];
  #queues = 0;

  constructor(node: Node, database: TestDatabase, clock: FrozenClock, workspace: { id: string; key: string }) {
    this.node = node;
    this.database = database;
    this.clock = clock;
    this.key = workspace.key;
    this.workspaceId = workspace.id;
  }

  /** Sends a request. A string body is sent unchanged, anything else as JSON. */
  api(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    return ask(this.node.url, this.key, method, path, body, headers);
  }

  /** As `api`, but returns the body, and throws if the response is not a success. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which body it expects. A wrong guess fails it.
  async ok(method: string, path: string, body?: unknown): Promise<any> {
    return bodyOf(await this.api(method, path, body), method, path);
  }

  /** Creates a queue, without a callback unless `settings` have one. Returns its name. */
  async queue(settings: Record<string, unknown> = {}): Promise<string> {
    const name = `queue-${++this.#queues}`;
    await this.ok("POST", "/v1/queues", { name, ...settings });
    return name;
  }

  /** Starts a handler, and creates a queue that calls it. */
  async handler({
    answers = 200,
    ...settings
  }: {
    answers?: Answers;
    [setting: string]: unknown;
  } = {}): Promise<Handler & { queue: string; secret: string }> {
    const handler = await Handler.listen(answers);
    this.#handlers.push(handler);
    const name = `queue-${++this.#queues}`;
    const { callback_secret } = await this.ok("POST", "/v1/queues", { name, callback_url: handler.url, ...settings });
    return Object.assign(handler, { queue: name, secret: callback_secret as string });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  enqueue({ queue, payload = {}, ...job }: { queue: string; payload?: unknown; [field: string]: unknown }): Promise<any> {
    return this.ok("POST", `/v1/queues/${queue}/jobs`, { payload, ...job });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  job(job: { id: string; queue: string }): Promise<any> {
    return this.ok("GET", `/v1/queues/${job.queue}/jobs/${job.id}`);
  }

  async untilState(job: { id: string; queue: string }, state: string): Promise<void> {
    await until(async () => (await this.job(job)).state === state, `job ${job.id} to be ${state}`);
  }

  /** How many jobs of this workspace, of any kind, are in each state that some are in. */
  async jobStates(): Promise<Record<string, number>> {
    const found = await this.database.query<{ state: string; n: number }>(
      `select state, count(*)::int as n from job where workspace_id = ${this.#uuid} group by state`,
      [this.key],
    );
    return Object.fromEntries(found.map(({ state, n }) => [state, n]));
  }

  /** Waits until no job of this workspace is waiting, active or delayed. It moves the clock through every delay and backoff. */
  async untilIdle(): Promise<void> {
    for (;;) {
      await until(async () => (await this.#count("'waiting', 'active'")) === 0, "the queues to be idle");
      const next = await this.#nextDue();
      if (next === null) return;
      await this.moveTo(next);
    }
  }

  /** Moves the clock, and lets the node handle what is due. */
  async moveTo(ms: number): Promise<void> {
    if (ms > this.clock.nowMs()) await this.clock.set(ms);
    this.node.wake();
    await until(async () => (await this.#countDue()) === 0, "due jobs to be moved or decided, and due schedules to fire");
  }

  advance(seconds: number): Promise<void> {
    return this.moveTo(this.clock.nowMs() + seconds * 1000);
  }

  async close(): Promise<void> {
    for (const handler of this.#handlers) await handler.close();
  }

  async #count(states: string): Promise<number> {
    const found = await this.database.query<{ n: number }>(
      `select count(*)::int as n from job where workspace_id = ${this.#uuid} and state in (${states})`,
      [this.key],
    );
    return found[0]?.n ?? 0;
  }

  async #countDue(): Promise<number> {
    const found = await this.database.query<{ n: number }>(
      `select (select count(*) from job where state = 'delayed' and run_at <= moment())::int
         + (select count(*) from job where state = 'pending_approval' and decide_at <= moment())::int
         + (select count(*) from schedule where next_run_at <= moment())::int as n`,
    );
    return found[0]?.n ?? 0;
  }

  async #nextDue(): Promise<number | null> {
    const found = await this.database.query<{ ms: number | null }>(
      `select (extract(epoch from min(run_at)) * 1000)::float8 as ms from job where workspace_id = ${this.#uuid} and state = 'delayed'`,
      [this.key],
    );
    const ms = found[0]?.ms ?? null;
    return ms === null ? null : Math.ceil(ms);
  }

  readonly #uuid = "(select workspace_id from api_key where hash = sha256($1::text::bytea))";
}

/** Starts a node on the file's database. `settings` are environment variables. */
export async function startTestNode(
  database: TestDatabase,
  clock = new DatabaseClock(),
  settings: Record<string, string> = {},
): Promise<Node> {
  const config = readConfig({
    DATABASE_URL: database.url,
    // Each takes a while to open, and tests need few.
    TIDEMILL_DATABASE_CONNECTIONS: "18",
    TIDEMILL_PORT: "0",
    TIDEMILL_INTERNAL_PORT: "0",
    TIDEMILL_LOG_LEVEL: "silent",
    TIDEMILL_DRAIN_SECONDS: "5",
    TIDEMILL_ADMIN_TOKEN: "the-operators-own-token",
    TIDEMILL_MASTER_KEY: MASTER_KEY,
    ...settings,
  });
  const events = new Events();
  events.subscribe((event, fields, severity) => serviceLog.add(event, fields, severity));
  return startNode(config, { clock, events });
}

/** Creates a workspace directly in the node's database. */
export async function newWorkspace(
  database: TestDatabase,
  plan: "free" | "pro" | "team" | "enterprise" = "enterprise",
): Promise<{ id: string; key: string }> {
  return createWorkspace(connectionTo(database), createAdminContext(new DatabaseClock(), systemRandom), { name: "Test", plan });
}

const connections = new WeakMap<TestDatabase, Database>();

/** One connection for all that makes workspaces in a database: to connect costs more than to make one. */
function connectionTo(database: TestDatabase): Database {
  const known = connections.get(database);
  if (known) return known;
  const made = new Database({ connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000 });
  connections.set(database, made);
  database.beforeClose(() => made.close());
  return made;
}

/** One database and one node per file, one workspace per test. Time is frozen at 2026-11-21T12:00:00Z. */
export const test = base
  .extend<"database", TestDatabase>("database", { scope: "file" }, async ({}, { onCleanup }) => {
    const database = await TestDatabase.create(inject("postgres"));
    onCleanup(() => database.close());
    return database;
  })
  .extend("clock", { scope: "file" }, async ({ database }) => {
    const clock = new FrozenClock(database);
    await clock.set(Date.parse(FROZEN_AT));
    return clock;
  })
  .extend("node", { scope: "file" }, async ({ database, clock }, { onCleanup }) => {
    const node = await startTestNode(database, clock);
    onCleanup(() => node.stop());
    return node;
  })
  .extend("service", async ({ database, clock, node }, { onCleanup }) => {
    const service = new Service(node, database, clock, await newWorkspace(database));
    onCleanup(() => service.close());
    return service;
  });

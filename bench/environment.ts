import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "../packages/server/src/kernel/database/embedded/index.ts";
import { Database } from "../packages/server/src/kernel/index.ts";
import { endPostgresOnExit } from "../packages/server/test/harness/end-postgres.ts";
import { Peer, type PeerOptions } from "./processes.ts";

/** An enqueue request's body of ordinary size, about 150 bytes. */
export const JOB = { payload: { to: "ada@example.com", subject: "Welcome", body: "x".repeat(60) } };

const KEY = "svc_ws_benchbenchbenchbench";

/** What scenarios run on: an embedded PostgreSQL with the settings that a node gives it, and the processes that they start. */
export class Environment {
  readonly key = KEY;
  /** Where PostgreSQL writes its log. */
  readonly postgresLog: string;
  readonly database: Database;
  readonly connection: { host: string; port: number; user: string; database: string };
  readonly #env: Record<string, string>;
  readonly #stop: () => Promise<void>;
  #queues = 0;

  private constructor(directory: string, postgres: Awaited<ReturnType<typeof startEmbeddedPostgres>>, cancelEnd: () => void) {
    this.connection = postgres.connection;
    this.postgresLog = path.join(directory, "postgres.log");
    this.database = new Database({ connection: postgres.connection, size: 4, statementTimeoutMs: 600_000 });
    this.#env = {
      TIDEMILL_BOOTSTRAP_KEY: KEY,
      TIDEMILL_PORT: "0",
      TIDEMILL_INTERNAL_PORT: "0",
      TIDEMILL_DATA_DIR: directory,
      TIDEMILL_ENQUEUE_BACKLOG: "100000",
    };
    this.#stop = async () => {
      await this.database.close();
      await postgres.stop();
      cancelEnd();
      await rm(directory, { recursive: true, force: true });
    };
  }

  /** Starts PostgreSQL with an empty database, in a directory that is removed at the end. */
  static async open(): Promise<Environment> {
    const directory = await mkdtemp(path.join(tmpdir(), "tidemill-bench-"));
    // Started by root, PostgreSQL runs as another user, who needs access to this directory.
    await chmod(directory, 0o711);
    const cancelEnd = endPostgresOnExit(directory);
    const postgres = await startEmbeddedPostgres({ dataDir: directory, as: "owner", emit: () => {} });
    return new Environment(directory, postgres, cancelEnd);
  }

  async node(env: Record<string, string> = {}, options: PeerOptions = {}): Promise<BenchNode> {
    const { peer, said } = await Peer.start<Listening>("node", { ...this.#env, ...env }, options);
    return new BenchNode(peer, said, this.key);
  }

  /** Starts the same HTTP server, which responds to enqueues without storing jobs. */
  async unstored(): Promise<{ peer: Peer; port: number }> {
    const { peer, said } = await Peer.start<{ port: number }>("unstored", {
      ...this.#env,
      BENCH_CONNECTION: JSON.stringify(this.connection),
    });
    return { peer, port: said.port };
  }

  async loader(): Promise<Peer> {
    return (await Peer.start("loader")).peer;
  }

  async receiver(): Promise<{ peer: Peer; url: string }> {
    const { peer, said } = await Peer.start<{ port: number }>("receiver");
    return { peer, url: `http://127.0.0.1:${said.port}/callback` };
  }

  queueName(): string {
    this.#queues += 1;
    return `bench-${this.#queues}`;
  }

  close(): Promise<void> {
    return this.#stop();
  }
}

interface Listening {
  readonly url: string;
  readonly internalUrl: string;
  readonly port: number;
}

/** A measured node, with its API. */
export class BenchNode {
  readonly peer: Peer;
  readonly url: string;
  readonly internalUrl: string;
  readonly port: number;
  readonly #key: string;

  constructor(peer: Peer, { url, internalUrl, port }: Listening, key: string) {
    this.peer = peer;
    this.url = url;
    this.internalUrl = internalUrl;
    this.port = port;
    this.#key = key;
  }

  async api<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as Body;
  }

  async fill(queue: string, jobs: number, job: object): Promise<void> {
    for (let left = jobs; left > 0; left -= 1000) {
      await this.api(
        "POST",
        `/v1/queues/${queue}/jobs/batch`,
        Array.from({ length: Math.min(left, 1000) }, () => job),
      );
    }
  }

  stop(): Promise<void> {
    return this.peer.stop();
  }
}

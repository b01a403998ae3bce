import { readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { startEmbeddedPostgres } from "../../src/kernel/database/embedded/index.ts";
import { identify } from "../../src/kernel/database/embedded/process.ts";
import { until } from "./service.ts";

/** PostgreSQL's shutdown modes, and `killed`, with the signal of each. */
const SIGNALS = { fast: "SIGINT", immediate: "SIGQUIT", killed: "SIGKILL" } as const;

/** Whether a process runs. A zombie does not. */
export const isRunning = async (pid: number): Promise<boolean> => (await identify(pid)) !== null;

/** The process id of a data directory's PostgreSQL. Null if there is no pid file. */
export function postmasterOf(dataDir: string): number | null {
  try {
    return Number(readFileSync(path.join(dataDir, "postgres/postmaster.pid"), "utf8").split("\n")[0]);
  } catch {
    return null;
  }
}

/** Whether the PostgreSQL of a data directory runs. */
export async function hasPostgres(dataDir: string): Promise<boolean> {
  const pid = postmasterOf(dataDir);
  return pid !== null && (await isRunning(pid));
}

/** The directory of the socket of a data directory's PostgreSQL. */
const socketsOf = (dataDir: string): string =>
  (JSON.parse(readFileSync(path.join(dataDir, "postgres.json"), "utf8")) as { sockets: string }).sockets;

/** Runs one statement in the embedded PostgreSQL of a data directory. */
export async function ask<Row extends pg.QueryResultRow>(dataDir: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({
    host: socketsOf(dataDir),
    user: "tidemill",
    database: "tidemill",
    options: "-c search_path=tidemill -c timezone=UTC",
  });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** A PostgreSQL for one test. No node restarts it after it has stopped. */
export class Cluster {
  readonly #dataDir: string;
  readonly #held: { stop(): Promise<void> }[] = [];

  private constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  static async create(dataDir: string): Promise<Cluster> {
    const cluster = new Cluster(dataDir);
    await cluster.start();
    return cluster;
  }

  /** The directory of its socket. */
  get host(): string {
    return socketsOf(this.#dataDir);
  }

  get hba(): string {
    return path.join(this.#dataDir, "postgres/pg_hba.conf");
  }

  url({ user = "tidemill", password = "", database = "tidemill" } = {}): string {
    return `postgres://${user}${password && `:${password}`}@${encodeURIComponent(this.host)}:5432/${database}`;
  }

  async start(): Promise<void> {
    // Guests do not restart PostgreSQL. An owner would.
    this.#held.push(await startEmbeddedPostgres({ dataDir: this.#dataDir, as: "guest", emit: () => {} }));
  }

  async stop(how: keyof typeof SIGNALS): Promise<void> {
    const pid = postmasterOf(this.#dataDir);
    if (pid === null) throw new Error("There is no PostgreSQL to stop.");
    process.kill(pid, SIGNALS[how]);
    await until(async () => !(await isRunning(pid)), "PostgreSQL to end");
  }

  query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return ask<Row>(this.#dataDir, text, values);
  }

  async close(): Promise<void> {
    for (const one of this.#held) await one.stop();
  }
}

import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { test as base, inject } from "vitest";
import { Client } from "./client.ts";
import { Cluster, isRunning, postmasterOf } from "./cluster.ts";
import { TestDatabase } from "./database.ts";
import { Wire } from "./database-wire.ts";
import { type Answers, Handler } from "./handler.ts";
import { copyCluster } from "./postgres.ts";
import { type Ending, NodeProcess, Program, type RunAs, type Settings } from "./process.ts";
import { until } from "./service.ts";

/** Starts real processes, databases and handlers for a test, and removes them after it. */
export class Stage {
  readonly #ends: (() => Promise<unknown>)[] = [];

  /** Creates a directory that is removed at the end. A PostgreSQL that still runs there is stopped. */
  directory(): string {
    const made = mkdtempSync(path.join(tmpdir(), "tidemill-fault-"));
    // Started by root, PostgreSQL runs as another user, who needs access to this directory.
    chmodSync(made, 0o711);
    this.#ends.push(async () => {
      await stopPostgres(path.join(made, "data"));
      rmSync(made, { recursive: true, force: true });
    });
    return made;
  }

  /** The path of a data directory that does not exist yet. */
  dataDir(): string {
    return path.join(this.directory(), "data");
  }

  /** A data directory with a migrated database that holds nothing yet: for tests of which the very first start is no part. */
  migratedDataDir(): string {
    const dataDir = this.dataDir();
    mkdirSync(dataDir, { mode: 0o711 });
    copyCluster(inject("migratedCluster"), path.join(dataDir, "postgres"));
    return dataDir;
  }

  /** A database of the test's own in the PostgreSQL that all tests share. */
  async database(): Promise<TestDatabase> {
    const database = await TestDatabase.create(inject("postgres"));
    this.#ends.push(() => database.close());
    return database;
  }

  /** Opens a separate session in a database, which can hold locks. */
  async session(database: TestDatabase): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url, options: "-c search_path=tidemill" });
    client.on("error", () => {});
    await client.connect();
    this.#ends.push(() => client.end());
    return client;
  }

  /** A PostgreSQL of the test's own, whose database is migrated unless the data directory is a fresh one. */
  async cluster(dataDir = this.migratedDataDir()): Promise<Cluster> {
    const cluster = await Cluster.create(dataDir);
    this.#ends.push(() => cluster.close());
    return cluster;
  }

  async wire({ name }: TestDatabase): Promise<Wire> {
    const { host, port } = inject("postgres");
    const wire = await Wire.to(host, port, name);
    this.#ends.push(() => wire.close());
    return wire;
  }

  /** A node that serves. */
  node(settings: Settings, runAs?: RunAs): Promise<NodeProcess & { client: Client }> {
    return this.start(settings, runAs)
      .ready()
      .then((node) => Object.assign(node, { client: new Client(node.url) }));
  }

  /** Starts a node without waiting until it is ready. */
  start(settings: Settings, runAs?: RunAs): NodeProcess {
    const node = new NodeProcess(settings, runAs);
    this.#ends.push(() => node.kill());
    return node;
  }

  /** Runs a command to its end. */
  async run(args: readonly string[], settings: Settings = {}, runAs?: RunAs): Promise<Ending & { stdout: string; stderr: string }> {
    const program = this.program(args, settings, runAs);
    const ending = await program.end();
    return { ...ending, stdout: program.stdout, stderr: program.stderr };
  }

  /** Starts a command without waiting for its end. */
  program(args: readonly string[], settings: Settings = {}, runAs?: RunAs): Program {
    const program = new Program(args, settings, runAs);
    this.#ends.push(() => program.kill());
    return program;
  }

  async handler(answers: Answers = 200, port = 0): Promise<Handler> {
    const handler = await Handler.listen(answers, port);
    this.#ends.push(() => handler.close().catch(() => {}));
    return handler;
  }

  /** Adds a step to run at the end. */
  finally(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }
}

async function stopPostgres(dataDir: string): Promise<void> {
  const pid = postmasterOf(dataDir);
  if (pid === null || !(await isRunning(pid))) return;
  process.kill(pid, "SIGQUIT");
  await until(async () => !(await isRunning(pid)), "a PostgreSQL left over to end");
}

export const test = base.extend("stage", async ({}, { onCleanup }) => {
  const stage = new Stage();
  onCleanup(() => stage.close());
  return stage;
});

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { type Connection, Database, migrate } from "#kernel";
import { maintainPartitions } from "#retention";
import { startEmbeddedPostgres } from "../../src/kernel/database/embedded/index.ts";
import { endPostgresOnExit } from "./end-postgres.ts";

export const TEMPLATE = "tidemill_template";

/** Where time is stalled when a test begins. */
export const FROZEN_AT = "2026-11-21T12:00:00Z";

export interface Server {
  host: string;
  port: number;
  user: string;
}

declare module "vitest" {
  interface ProvidedContext {
    postgres: Server;
    /** The directory of a stopped cluster whose database `tidemill` is migrated, to be copied. */
    migratedCluster: string;
  }
}

/**
 * In a test's database, the row of `frozen_moment` gives the time. Without a row, time passes. Only the function's body differs from
 * production.
 */
const FREEZABLE = `
  create table tidemill.frozen_moment (at timestamptz not null);
  create or replace function tidemill.moment() returns timestamptz language sql stable parallel safe as
    'select coalesce((select at from tidemill.frozen_moment), now())'`;

/** Constraints that only tests have (docs/decisions/0059). */
const CONSTRAINTS = readFileSync(path.join(import.meta.dirname, "constraints.sql"), "utf8");

/** The server's data is deleted after the run, so that it need not survive a crash. Autovacuum would visit hundreds of databases. */
const SETTINGS = { max_connections: "300", fsync: "off", wal_compression: "off", autovacuum: "off" };

/** Copies a stopped cluster. Owners and modes stay, as PostgreSQL insists on them. */
export function copyCluster(from: string, to: string): void {
  execFileSync("cp", ["-a", from, to]);
}

async function query(connection: Connection, text: string): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** As the first start of a node does: to make thirty partitions costs more than all else of that start. */
async function makePartitions(connection: Connection): Promise<void> {
  const database = new Database({ connection, size: 1, statementTimeoutMs: 60_000 });
  await maintainPartitions(database, () => {}).finally(() => database.close());
}

/** Starts one PostgreSQL for the whole run, with a migrated template that each test file's database is cloned from. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "tidemill-test-"));
  // Started by root, the server runs as another user, who needs access to this directory.
  chmodSync(dataDir, 0o711);
  // Vitest exits on SIGTERM and SIGINT without a teardown.
  const cancelEnd = endPostgresOnExit(dataDir);
  const migratedCluster = path.join(dataDir, "migrated");
  const start = () => startEmbeddedPostgres({ dataDir, as: "owner", emit: () => {}, settings: SETTINGS });

  const first = await start();
  await migrate(first.connection, () => {});
  await query(first.connection, CONSTRAINTS);
  await query({ ...first.connection, database: "postgres" }, `create database ${TEMPLATE} template tidemill`);
  await makePartitions(first.connection);
  await first.stop();
  copyCluster(path.join(dataDir, "postgres"), migratedCluster);

  const postgres = await start();
  const { host, port, user } = postgres.connection;
  const template = { host, port, user, database: TEMPLATE };
  await query(template, FREEZABLE);
  await query(template, `insert into tidemill.frozen_moment values ('${FROZEN_AT}')`);
  await makePartitions(template);
  await query(template, "delete from tidemill.frozen_moment");
  project.provide("postgres", { host, port, user });
  project.provide("migratedCluster", migratedCluster);
  return async () => {
    await postgres.stop();
    cancelEnd();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

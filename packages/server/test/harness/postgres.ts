import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrate } from "#kernel";
import { startEmbeddedPostgres } from "../../src/kernel/database/embedded/index.ts";

export const TEMPLATE = "tidemill_template";

export interface Server {
  host: string;
  port: number;
  user: string;
}

declare module "vitest" {
  interface ProvidedContext {
    postgres: Server;
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

/** The server's data is deleted after the run, so that it need not survive a crash. Autovacuum would visit hundreds of databases. */
const SETTINGS = { max_connections: "300", fsync: "off", wal_compression: "off", autovacuum: "off" };

/** Starts one PostgreSQL for the whole run, with a migrated template that each test file's database is cloned from. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "tidemill-test-"));
  // Started by root, the server runs as another user, who needs access to this directory.
  chmodSync(dataDir, 0o711);
  const postgres = await startEmbeddedPostgres({ dataDir, as: "owner", emit: () => {}, settings: SETTINGS });
  const { host, port, user } = postgres.connection;
  const admin = new pg.Client({ host, port, user, database: "tidemill" });
  await admin.connect();
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  const connection = { host, port, user, database: TEMPLATE };
  await migrate(connection, () => {});
  const template = new pg.Client(connection);
  await template.connect();
  await template.query(FREEZABLE);
  await template.end();
  project.provide("postgres", { host, port, user });
  return async () => {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

import type { EventEmitter } from "node:events";
import { DatabaseError } from "pg";
import { expect, onTestFinished } from "vitest";
import { rows, sql } from "#kernel";
import { createPool, executeOn, inTransaction, onConnection } from "../../src/kernel/database/pool.ts";
import { test } from "../harness/engine.ts";

test("a connection that breaks just when a transaction has got it fails that as unavailable, and the next one gets another", async ({
  database,
}) => {
  const connection = { connectionString: database.url };
  const pool = createPool({ connection, size: 1, statementTimeoutMs: 10_000 }, ["tidemill"]);
  onTestFinished(() => pool.end());
  const client = await pool.connect();
  const messages = (client as unknown as { connection: EventEmitter }).connection;
  client.release();
  const before = executeOn(pool, sql`select 1 as one`);
  const transaction = () => onConnection(pool, (taken) => inTransaction(taken, (tx) => rows(tx, sql`select 2 as two`)));
  const waiting = transaction();
  // In one piece of what PostgreSQL sends: after the statement that has ended, and before anything is sent for the transaction that waits. A backend
  // that is terminated sends it so only now and then.
  messages.once("readyForQuery", () => {
    const ended = new DatabaseError("terminating connection due to administrator command", 0, "error");
    messages.emit("errorMessage", Object.assign(ended, { severity: "FATAL", code: "57P01" }));
  });
  expect((await before).rows).toEqual([{ one: 1 }]);
  await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await transaction()).toEqual([{ two: 2 }]);
});

import { expect, inject } from "vitest";
import { Database, rows, sql } from "#kernel";
import { Wire } from "../harness/database-wire.ts";
import { test } from "../harness/engine.ts";

test("a transaction that the database ends because its next statement does not arrive fails as unavailable", async ({ database }) => {
  const { host, port } = inject("postgres");
  const wire = await Wire.to(host, port, database.name);
  const slow = new Database({ connection: { connectionString: wire.url() }, size: 1, statementTimeoutMs: 1_000 });
  try {
    const transaction = slow.transaction(async (tx) => {
      await rows(tx, sql`select 1 as one`);
      wire.holdRequests();
      return rows(tx, sql`select 2 as two`);
    });
    await expect(transaction).rejects.toMatchObject({ code: "UNAVAILABLE" });
    wire.release();
    expect(await rows(slow, sql`select 3 as three`)).toEqual([{ three: 3 }]);
  } finally {
    await slow.close();
    await wire.close();
  }
});

import { openDatabases, readConfig } from "@tidemill/server";
import { expect, onTestFinished } from "vitest";
import { rows, sql } from "#kernel";
import { divideConnections } from "../../src/databases.ts";
import { test } from "../harness/engine.ts";

test.for([
  [24, "beside the loops that keep tables small"],
  [8, "in turns with them, so that settles have a connection"],
] as const)("with %i connections, a count of all jobs runs %s", async ([connections], { database }) => {
  const config = readConfig({ DATABASE_URL: database.url, TIDEMILL_DATABASE_CONNECTIONS: String(connections) });
  const databases = await openDatabases(config, "guest", () => {});
  onTestFinished(() => databases.close());
  let hasCounted = false;
  let isBeside = false;
  const counted = Promise.withResolvers<void>();
  const counting = databases.recounts.transaction(async (tx) => {
    await rows(tx, sql`select 1`);
    await counted.promise;
    hasCounted = true;
  });
  const sweeping = rows(databases.housekeeping, sql`select 1`).then(() => {
    isBeside = !hasCounted;
  });
  await rows(databases.engine, sql`select 1`);
  if (connections === 24) await sweeping;
  counted.resolve();
  await Promise.all([counting, sweeping]);
  expect(isBeside).toBe(connections === 24);
});

test("the connections of requests are opened together: to authenticate, to store jobs, and for the rows of workspaces", async ({
  database,
}) => {
  const config = readConfig({ DATABASE_URL: database.url });
  const databases = await openDatabases(config, "guest", () => {});
  onTestFinished(() => databases.close());
  await databases.openForRequests();
  const { api, writes, tenants } = divideConnections(config);
  expect(
    await database.query(
      "select count(*)::int as open from pg_stat_activity where datname = current_database() and application_name = 'tidemill'",
    ),
  ).toEqual([{ open: api + writes + tenants }]);
});

import { openDatabases, readConfig } from "@tidemill/server";
import { expect, onTestFinished } from "vitest";
import { divideConnections } from "../../src/databases.ts";
import { test } from "../harness/engine.ts";

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

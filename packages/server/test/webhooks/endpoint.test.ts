import { expect } from "vitest";
import type { WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { webhookEndpoints } from "../../src/webhooks/endpoint.ts";
import { test } from "../harness/engine.ts";
import { newWorkspace, Service } from "../harness/service.ts";

test("the settings of webhooks of several workspaces that are needed together are read together", async ({
  service,
  engine,
  database,
  clock,
  onTestFinished,
}) => {
  const other = new Service(service.node, database, clock, await newWorkspace(database));
  onTestFinished(() => other.close());
  const names = ["one", "two", "three", "four"];
  for (const [at, name] of names.entries()) {
    const of = at % 2 === 0 ? service : other;
    await of.ok("POST", "/v1/webhooks", { name, url: `http://127.0.0.1:9/${name}`, events: ["job.completed"] });
  }
  const lanes = await database.query<{ workspace_id: WorkspaceId; id: string; name: string }>(
    "select workspace_id, id, name from lane where kind = 'webhook' and name = any($1)",
    [names],
  );
  let statements = 0;
  const db = {
    query: (...[statement]: Parameters<typeof engine.query>) => {
      statements += 1;
      return engine.query(statement);
    },
  };
  const endpoints = webhookEndpoints(db, { refusesHost: () => false });
  const gone = { workspaceId: lanes[0]?.workspace_id as WorkspaceId, laneId: 999_999 as LaneId, revision: 1 };
  const read = await Promise.all([
    ...lanes.map(({ workspace_id: workspaceId, id }) => endpoints.of({ workspaceId, laneId: Number(id) as LaneId, revision: 1 })),
    endpoints.of(gone),
  ]);
  expect(read.map((endpoint) => endpoint?.webhook)).toEqual([...lanes.map(({ name }) => name), undefined]);
  // The first read does not wait for others.
  expect(statements).toBeLessThanOrEqual(2);
});

import { expect } from "vitest";
import type { Claim } from "#jobs";
import type { Statement, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { createAddressGuard } from "#outbound";
import { callbackEndpoints } from "../../src/callbacks/endpoint.ts";
import { test } from "../harness/engine.ts";
import { newWorkspace, Service } from "../harness/service.ts";

const QUEUES = 50;

/** What an attempt of each queue of the service would have of its claim. */
async function claimsOf({ database, key }: Service): Promise<Claim[]> {
  const lanes = await database.query<{ workspace_id: WorkspaceId; id: LaneId; revision: number }>(
    `select workspace_id, id::int, revision from lane
     where workspace_id = (select workspace_id from api_key where hash = sha256($1::text::bytea)) order by id`,
    [key],
  );
  return lanes.map(({ workspace_id, id, revision }) => ({ workspaceId: workspace_id, laneId: id, revision })) as unknown as Claim[];
}

test("settings of many queues are read by a few statements, in turns of workspaces", async ({ service, engine, node, database, clock }) => {
  const other = new Service(node, database, clock, await newWorkspace(database));
  for (let queue = 0; queue < QUEUES; queue += 1) {
    await service.ok("POST", "/v1/queues", { name: `q${queue}`, callback_url: `https://example.com/${queue}` });
  }
  await service.ok("POST", "/v1/queues", { name: "unserved" });
  await other.ok("POST", "/v1/queues", { name: "theirs", callback_url: "https://example.com/theirs" });
  const read: string[][] = [];
  const db = {
    query: (statement: Statement) => {
      read.push(String(statement.values[0]).slice(1, -1).split(","));
      return engine.query(statement);
    },
  };
  const endpoints = callbackEndpoints(db, createAddressGuard({ allowLoopback: true, allowed: [] }));
  const [mine, theirs] = [await claimsOf(service), await claimsOf(other)];
  const found = await Promise.all([...mine, ...theirs].map((claim) => endpoints.of(claim)));
  const names = Array.from({ length: QUEUES }, (_, queue) => `q${queue}`);
  expect(found.map((endpoint) => endpoint?.queue)).toEqual([...names, undefined, "theirs"]);
  expect(found.map((endpoint) => endpoint?.plain?.path)).toEqual([...names.map((name) => `/${name.slice(1)}`), undefined, "/theirs"]);
  expect(read.map((workspaces) => workspaces.length)).toEqual([20, 20, 12]);
  expect(read[0]).toContain(theirs[0]?.workspaceId);
});

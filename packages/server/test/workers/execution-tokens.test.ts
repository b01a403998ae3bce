import { expect } from "vitest";
import type { NamedClaim } from "#jobs";
import { type JobId, sql, type Uuid, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { registerNode } from "../../src/engine/leases/store.ts";
import { ExecutionTokens } from "../../src/workers/execution-tokens.ts";
import { leaseToken } from "../../src/workers/lease-token.ts";
import { test } from "../harness/engine.ts";

const JOB = "0199a6e2-0000-7000-8000-000000000001" as JobId;
const WORKSPACE = "0199a6e2-0000-7000-8000-000000000002" as WorkspaceId;
const NODE = {
  process: JOB as string as Uuid,
  host: "h",
  version: "1",
  maxMemoryBytes: 1,
  maxInFlight: 1,
  url: "http://127.0.0.1:1",
  masterKeyIds: [],
};

test("a token that names the lease of a later node is refused, and that node's own tokens are not", async ({ engine, database }) => {
  const tokens = new ExecutionTokens(engine);
  const [last] = await database.query<{ id: number }>("select max(id)::int as id from lease");
  const claim: NamedClaim = { id: JOB, laneId: 1 as LaneId, leaseId: (last?.id ?? 0) + 1, attempt: 1 };
  const verify = (lease_token: string) => tokens.verify(WORKSPACE, { id: `job_${"0".repeat(26)}`, lease_token });
  expect(await verify(leaseToken(claim, "A".repeat(22)))).toBeNull();
  await engine.query(sql`select setval(pg_get_serial_sequence('lease', 'id'), ${claim.leaseId}, false)`);
  await registerNode(engine, { ...NODE, leaseSeconds: 60, ageSeconds: 0 }, { memoryBytes: 1, isDraining: false });
  expect(await tokens.of({ ...claim, workspaceId: WORKSPACE })).toMatch(/^[0-9a-z]+-1-1-[A-Za-z0-9_-]{22}$/);
});

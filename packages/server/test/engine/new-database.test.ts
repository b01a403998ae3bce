import { expect } from "vitest";
import { claimAcrossWorkspaces, claimForWorkersAcrossWorkspaces, claimFromBacklogAcrossWorkspaces } from "#jobs";
import type { Db, Statement } from "#kernel";
import type { LaneKey } from "#lanes";
import { createPool } from "../../src/kernel/database/pool.ts";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";

const CLAIMS: Record<string, (db: Db, lane: LaneKey) => Promise<unknown>> = {
  "a claim": (db, lane) => claimAcrossWorkspaces(db, { leaseId: 1, served: "push" }, [{ ...lane, take: 1 }]),
  "a claim for workers": (db, lane) =>
    claimForWorkersAcrossWorkspaces(db, 1, [{ ...lane, take: 1, leaseId: 1, leaseSeconds: 30, request: null, version: null }], false),
  "a claim from a backlog": (db, lane) =>
    claimFromBacklogAcrossWorkspaces(db, 1, [{ ...lane, take: 1, leaseId: 1, leaseSeconds: 30, request: null, version: null }]),
};

test.for(Object.entries(CLAIMS))(
  "in a database without statistics, %s reads only the jobs that it takes",
  async ([, claim], { database }) => {
    const lane = await putLane(database);
    await putJobs(database, lane, { state: "waiting", count: 20_000 });
    const options = { connection: { connectionString: database.url }, size: 1, statementTimeoutMs: 10_000, inOrder: true };
    const claims = createPool(options, ["tidemill"]);
    const plan: string[] = [];
    const explain = async ({ text }: Statement) => {
      const { rows } = await claims.query<{ "QUERY PLAN": string }>(`explain (generic_plan) ${text}`);
      plan.push(...rows.map((row) => row["QUERY PLAN"].trim()));
      return { rows: [] };
    };
    await claim({ query: explain }, lane);
    await claims.end();
    const limit = plan.findIndex((line) => line.startsWith("->  Limit"));
    expect(plan.slice(limit + 1, limit + 3)).toEqual([
      expect.stringMatching(/LockRows/),
      expect.stringMatching(/Index Scan using job_claimable/),
    ]);
  },
);

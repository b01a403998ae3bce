import pg from "pg";
import { describe, expect } from "vitest";
import { type Db, type JobId, type Statement, toMoment } from "#kernel";
import { sweepDeletedQueuesAcrossWorkspaces } from "#retention";
import { purgeFailed, retryFailed } from "../../src/dispatch/dead-letter-store.ts";
import { completeAcrossWorkspaces, refuseAcrossWorkspaces } from "../../src/dispatch/settle-store.ts";
import { claimAcrossWorkspaces, moveDueAcrossWorkspaces, takeBackAcrossWorkspaces } from "../../src/dispatch/store.ts";
import { putLane, test } from "../harness/engine.ts";

const LANE = { workspaceId: "00000000-0000-7000-8000-000000000001" as never, laneId: 1 as never };
const SETTLED = { ...LANE, id: "00000000-0000-7000-8000-000000000002" as JobId, nodeId: 1, attempt: 1, logEntry: "{}" };
const DEAD = { ...LANE, filter: { tag: undefined, error: undefined, failed_before: undefined, failed_after: undefined } } as never;
const UNTIL = toMoment(0);

/** Statements that change many jobs at once. */
const STATEMENTS: Record<string, (db: Db) => Promise<unknown>> = {
  claim: (db) => claimAcrossWorkspaces(db, 1, [{ ...LANE, take: 1 }]),
  complete: (db) => completeAcrossWorkspaces(db, [{ ...SETTLED, result: null }]),
  refuse: (db) =>
    refuseAcrossWorkspaces(db, [{ ...SETTLED, to: "delayed", waitMs: 1, aloneWaitMs: null, error: null, errorCode: null, spared: null }]),
  "take back": (db) => takeBackAcrossWorkspaces(db, { nodeId: 1, outcome: "lost", error: null, mostLosses: 3, most: 1 }),
  "come due": (db) => moveDueAcrossWorkspaces(db, 1),
  "retry dead letters": (db) => retryFailed(db, DEAD, UNTIL, 1),
  "purge dead letters": (db) => purgeFailed(db, DEAD, UNTIL, 1),
  "sweep a queue": (db) => sweepDeletedQueuesAcrossWorkspaces(db),
};

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** Where a plan reads all of a table that grows: by an index, but for nothing that it looks for there. */
const wholesale = (plan: PlanNode): string[] =>
  nodesOf(plan)
    .filter((node) => /Scan$/.test(node["Node Type"]) && /^(job|job_history.*)$/.test(node["Relation Name"] ?? ""))
    .filter((node) => !node["Index Cond"] && !/^job_(due|failed|active)$/.test(node["Index Name"] ?? ""))
    .map((node) => `${node["Node Type"]} of ${node["Relation Name"]} by ${node["Index Name"]}`);

describe("a plan that is made and kept while there are no jobs does not read all of them once there are", () => {
  test.for(Object.keys(STATEMENTS))("%s", async (name, { database }) => {
    await putLane(database);
    const client = new pg.Client({
      connectionString: database.url,
      options:
        "-c search_path=tidemill -c jit=off -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan",
    });
    await client.connect();
    const texts: string[] = [];
    const record = async ({ text }: Statement) => {
      texts.push(text);
      return { rows: [{ moved: 0, jobs: 0, workspace_id: LANE.workspaceId, id: LANE.laneId }], rowCount: 1 };
    };
    await STATEMENTS[name]?.({ query: record });
    try {
      await client.query("vacuum analyze job");
      for (const text of texts) {
        const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(`explain (generic_plan, format json) ${text}`);
        expect(wholesale(rows[0]?.["QUERY PLAN"][0].Plan as PlanNode)).toEqual([]);
      }
      expect(texts.length).toBeGreaterThan(0);
    } finally {
      await client.end();
    }
  });
});

import pg from "pg";
import type { Db, Statement } from "#kernel";
import type { TestDatabase } from "./database.ts";
import { putLane } from "./engine.ts";

/** The lane that statements are planned for. It does not exist. */
export const PLANNED_LANE = { workspaceId: "00000000-0000-7000-8000-000000000001" as never, laneId: 1 as never };

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

export const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/**
 * Whether a scan has a condition on its index. In a primary key, the workspace alone is none: a workspace may have all of the jobs. It has about
 * 1,000 groups of dead letters at most. In an index of runs, the id alone is none: the scan would search for it in each workspace and status.
 */
function hasCondition({ "Index Name": index = "", "Index Cond": condition = "" }: PlanNode): boolean {
  if (index === "run_status" || index === "run_lane") return condition.includes("workspace_id");
  return index.endsWith("_pkey") && index !== "dead_letter_group_pkey"
    ? /\b(id|lane_id|run_id|key|fingerprint) [<=>]/.test(condition)
    : condition.includes("id");
}

/** Finds where a plan reads all of a growing table, or all of its index without a condition on it. */
export const wholesale = (plan: PlanNode): string[] =>
  nodesOf(plan)
    .filter(
      (node) =>
        /(?<!^Tid )Scan$/.test(node["Node Type"]) &&
        /^(job|job_history.*|idempotency_key|batch_key|run|run_step|run_call|run_key|run_unfit|signal|operation|job_count|job_metric|tally|dead_letter_group|dead_letter_hour)$/.test(
          node["Relation Name"] ?? "",
        ),
    )
    .filter(
      (node) =>
        !hasCondition(node) &&
        !/^job_(due|due_share|failed|lease_until|pending|active|undecided|undecided_share)$|^idempotency_key_check$|^batch_key_expiry$|^operation_(turn|running|finished)$|^dead_letter_(group_empty|hour_age)$/.test(
          node["Index Name"] ?? "",
        ),
    )
    .map((node) => `${node["Node Type"]} of ${node["Relation Name"]} by ${node["Index Name"]}`);

/** Tables whose size is known when a plan is made. */
const TABLES = {
  jobs: "job",
  runs: "job, run, run_step, run_call, run_key, run_unfit, signal",
  records: "job, lane, operation, job_delta, job_count, job_metric, tally, dead_letter_delta, dead_letter_group, dead_letter_hour",
};

export interface Planning {
  readonly of?: keyof typeof TABLES;
  readonly schemas?: string;
  /** Plans for the values that are asked for, in place of one for any values. */
  readonly custom?: boolean;
}

/** The plans of what is asked, made by a node's connection while there is one queue, and what the test has put. */
export async function plansOf(
  database: TestDatabase,
  ask: (db: Db) => Promise<unknown>,
  { of = "jobs", schemas = "tidemill", custom = false }: Planning = {},
): Promise<PlanNode[]> {
  await putLane(database);
  const client = new pg.Client({
    connectionString: database.url,
    options: `-c search_path=${schemas} -c jit=off -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=${custom ? "force_custom_plan" : "force_generic_plan"}`,
  });
  await client.connect();
  const statements: Statement[] = [];
  const record = async (statement: Statement) => {
    statements.push(statement);
    return { rows: [{ moved: 0, jobs: 0, lanes: [], workspace_id: PLANNED_LANE.workspaceId, id: PLANNED_LANE.laneId }] };
  };
  await ask({ query: record });
  try {
    await client.query(`vacuum analyze ${TABLES[of]}`);
    const plans: PlanNode[] = [];
    for (const { text, values } of statements) {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
        custom ? { text: `explain (format json) ${text}`, values } : `explain (generic_plan, format json) ${text}`,
      );
      plans.push(rows[0]?.["QUERY PLAN"][0].Plan as PlanNode);
    }
    return plans;
  } finally {
    await client.end();
  }
}

import { expect } from "vitest";
import { removeUnlocked } from "#jobs";
import type { Statement } from "#kernel";
import { putLane, test } from "../harness/engine.ts";
import { putJobs } from "../harness/jobs.ts";
import { nodesOf, type PlanNode } from "../harness/plans.ts";

const JOBS = 1_000;

test("jobs of a lane are removed without a comparison of each with all", async ({ database, engine }) => {
  const lane = await putLane(database);
  const ids = await putJobs(database, lane, { state: "waiting", count: JOBS });
  await putJobs(database, lane, { state: "waiting", count: 10 });
  let statement: Statement | undefined;
  const record = async (asked: Statement) => {
    statement = asked;
    return { rows: [] };
  };
  await removeUnlocked({ query: record }, lane, ids);
  const [explained] = await database.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
    `explain (analyze, format json) ${statement?.text}`,
    statement?.values as unknown[],
  );
  const removed = nodesOf(explained?.["QUERY PLAN"][0].Plan as PlanNode).map((node) => {
    const rows = node as PlanNode & Partial<Record<"Rows Removed by Filter" | "Rows Removed by Join Filter" | "Actual Loops", number>>;
    return ((rows["Rows Removed by Filter"] ?? 0) + (rows["Rows Removed by Join Filter"] ?? 0)) * (rows["Actual Loops"] ?? 1);
  });
  expect(Math.max(...removed)).toBeLessThanOrEqual(JOBS);
  expect(await database.query("select count(*)::int as jobs from job")).toEqual([{ jobs: 10 }]);
  expect(await removeUnlocked(engine, lane, ids)).toEqual([]);
});

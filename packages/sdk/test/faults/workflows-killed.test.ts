import { expect } from "vitest";
import { test } from "../../../server/test/harness/stage.ts";
import { findCrashFaults } from "./crash-checks.ts";
import { type CrashPlan, CrashRuns } from "./crash-runs.ts";
import { CrashStage } from "./crash-stage.ts";

/** `npm run crash` gives a larger one. */
const { CRASH_PLAN = '{"runs":40,"faults":10,"seed":1}' } = process.env;
const plan = JSON.parse(CRASH_PLAN) as CrashPlan;

test("runs whose workers, nodes and PostgreSQL are killed have each value once, in one order", { timeout: plan.faults * 60_000 }, async ({
  stage,
}) => {
  const crash = await CrashStage.start(stage);
  const runs = new CrashRuns(crash);
  await runs.run(plan);
  const ended = await runs.collect();
  expect(findCrashFaults({ runs: ended, traces: crash.traces, payloads: runs.payloads }), crash.complaints).toEqual([]);
  expect(ended).toHaveLength(plan.runs * 2);
  // The faults did something.
  expect(ended.some(({ attempt }) => attempt > 1)).toBe(true);
});

import { expect } from "vitest";
import { test } from "../../../server/test/harness/stage.ts";
import { findCrashFaults, summariseCrash } from "./crash-checks.ts";
import { type CrashPlan, CrashRuns } from "./crash-runs.ts";
import { CrashStage } from "./crash-stage.ts";

/** `npm run crash` gives a larger one. */
const { CRASH_PLAN } = process.env;
const plan: CrashPlan = CRASH_PLAN === undefined ? { runs: 36, faults: 9, seed: 1 } : JSON.parse(CRASH_PLAN);

test("runs whose workers, nodes and PostgreSQL are killed have each value once, in one order", { timeout: plan.faults * 60_000 }, async ({
  stage,
}) => {
  const crash = await CrashStage.start(stage);
  const runs = new CrashRuns(crash);
  await runs.run(plan);
  const ended = await runs.collect();
  const outcome = { runs: ended, traces: crash.traces, payloads: runs.payloads };
  if (CRASH_PLAN !== undefined) process.stdout.write(summariseCrash(outcome));
  expect(findCrashFaults(outcome), crash.complaints).toEqual([]);
  expect(ended).toHaveLength(plan.runs * 3);
  // The faults did something.
  expect(ended.some(({ attempt }) => attempt > 1)).toBe(true);
});

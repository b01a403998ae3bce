import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that start processes or compute for long, the longest before the others. The first one collects all garbage before each measurement:
 * in a process that has run a hundred files, that takes three times as long.
 */
const LONG = [
  "/callbacks/hostile.",
  "/faults/schedules-killed.",
  "/schedules/cron-parser.",
  "/kernel/embedded.",
  "/faults/",
  "/cli/",
  "/vault/rotate-master-key.",
  "/vault/canary.",
  "/vault/check-keyring.",
  "/flow/key-concurrency.",
  "/dashboard/test/every-",
  "/sdk/test/demo.",
  "/sdk/test/workflow/docs.",
];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = LONG.findIndex((part) => moduleId.includes(part));
  return rank === -1 ? LONG.length : rank;
};

/** So that no worker is left alone with a long file in the end, also where no earlier run has measured them. */
export default class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

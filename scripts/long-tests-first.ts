import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that start processes or compute for long, the longest before the others. */
const LONG = [
  "/faults/schedules-killed.",
  "/schedules/cron-parser.",
  "/kernel/embedded.",
  "/faults/",
  "/cli/",
  "/vault/rotate-master-key.",
  "/vault/canary.",
  "/vault/check-keyring.",
  "/callbacks/hostile.",
  "/flow/key-concurrency.",
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

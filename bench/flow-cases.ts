import type { LaneKey } from "../packages/server/src/lanes/index.ts";
import { type FlowFixture, UNREACHABLE_URL } from "./flow-fixture.ts";
import { putFullQueues, putJobs, putQueue, type QueueToPut } from "./put-jobs.ts";

/** Jobs per claim. */
export const TAKE = 50;
/** Jobs that wait in an ordinary lane. */
export const FEW = 1_000;
/** Queues with waiting jobs. */
export const QUEUES = 10_000;
const MANY = 1_000_000;

interface FlowCase {
  readonly name: string;
  readonly queue?: Partial<QueueToPut>;
  /** Inserts the lane's jobs, and other queues where the case has some. */
  readonly put: (fixture: FlowFixture, lane: LaneKey) => Promise<unknown>;
  /** Whether each claim's jobs are replaced by as many new ones. */
  readonly refilled: boolean;
}

const few = ({ database }: FlowFixture, lane: LaneKey) => putJobs(database, lane, FEW);

/** Cases for flow control. Each leaves the lane with jobs, and with no other keys or limits than its own. */
export const FLOW_CASES: readonly FlowCase[] = [
  {
    name: "1,000,000 jobs on one key",
    queue: { concurrencyPerKey: TAKE },
    put: ({ database }, lane) => putJobs(database, lane, MANY, { kind: "one" }),
    refilled: false,
  },
  {
    name: "500,000 jobs with 100,000 keys (Zipf)",
    put: ({ database }, lane) => putJobs(database, lane, MANY / 2, { kind: "zipf", count: 100_000 }),
    refilled: false,
  },
  {
    name: "a paused queue with 1,000,000 jobs beside",
    put: async (fixture, lane) => {
      const beside = await putQueue(fixture.database, { name: "claim-flow-beside", url: UNREACHABLE_URL, paused: true });
      await putJobs(fixture.database, beside, MANY);
      await few(fixture, lane);
    },
    refilled: true,
  },
  {
    name: "a concurrency of 500, 250 in flight",
    queue: { concurrency: 500 },
    put: async (fixture, lane) => {
      await few(fixture, lane);
      await fixture.claim([lane], 250, true);
    },
    refilled: true,
  },
  { name: "a rate limit", queue: { rate: { max: MANY, perSeconds: 60 } }, put: few, refilled: true },
  {
    name: "10,000 queues with work beside",
    put: async (fixture, lane) => {
      await putFullQueues(fixture.database, {
        prefix: "claim-flow-beside-",
        queues: QUEUES,
        jobs: 100,
        url: UNREACHABLE_URL,
        paused: false,
      });
      await few(fixture, lane);
    },
    refilled: true,
  },
];

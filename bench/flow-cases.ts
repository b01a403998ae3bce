import { type FlowGround, NOBODY } from "./flow-ground.ts";
import { type LaneOf, putFullQueues, putJobs, putQueue, type QueueToPut } from "./put-jobs.ts";

/** Jobs that a claim takes. */
export const TAKE = 50;
/** Jobs that wait in a lane where there is nothing special. */
export const FEW = 1_000;
/** Queues that have work. */
export const QUEUES = 10_000;
const MANY = 1_000_000;

interface FlowCase {
  readonly name: string;
  readonly queue?: Partial<QueueToPut>;
  /** Puts what the lane has, and what is beside it. */
  readonly put: (ground: FlowGround, lane: LaneOf) => Promise<unknown>;
  /** Whether the lane is given as many jobs as were taken from it. */
  readonly refilled: boolean;
}

const few = ({ database }: FlowGround, lane: LaneOf) => putJobs(database, lane, FEW);

/** What flow control has to look after. `put` leaves the lane with jobs, and no keys or limits but those of its case. */
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
    put: async (ground, lane) => {
      const beside = await putQueue(ground.database, { name: "claim-flow-beside", url: NOBODY, paused: true });
      await putJobs(ground.database, beside, MANY);
      await few(ground, lane);
    },
    refilled: true,
  },
  {
    name: "a concurrency of 500, 250 in flight",
    queue: { concurrency: 500 },
    put: async (ground, lane) => {
      await few(ground, lane);
      await ground.claim([lane], 250, true);
    },
    refilled: true,
  },
  { name: "a rate limit", queue: { rate: { max: MANY, perSeconds: 60 } }, put: few, refilled: true },
  {
    name: "10,000 queues with work beside",
    put: async (ground, lane) => {
      await putFullQueues(ground.database, { prefix: "claim-flow-beside-", queues: QUEUES, jobs: 100, url: NOBODY, paused: false });
      await few(ground, lane);
    },
    refilled: true,
  },
];

import { FairQueue, type LockWaits } from "#kernel";

/** Turns for statements that wait for locks, one at a time. */
export const lockWaits = (): LockWaits => new FairQueue({ maxConcurrent: 1 });

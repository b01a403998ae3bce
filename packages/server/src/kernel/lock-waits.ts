import type { FairQueue } from "./fair-queue.ts";

/**
 * The turns of statements that took too long last, because rows are locked: each holds a connection for up to the statement timeout. They share a
 * limit, so that others always have a connection. The first argument names who asks: each of these has a line.
 */
export type LockWaits = Pick<FairQueue, "run">;

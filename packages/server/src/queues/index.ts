export * from "./create.ts";
export * from "./patch.ts";
export * from "./queue.ts";
export * from "./queues.ts";
export { findQueue, findQueueOfLane, findQueuesAcrossWorkspaces } from "./store.ts";

export * from "./create.ts";
export * from "./patch.ts";
export * from "./queue.ts";
export * from "./routes.ts";
export { findLane, findQueue, listQueues, markQueueDeleted } from "./store.ts";

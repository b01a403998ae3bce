export * from "./callback-url.ts";
export * from "./create.ts";
export * from "./not-found.ts";
export * from "./patch.ts";
export * from "./queue.ts";
export * from "./routes.ts";
export { findLane, findQueue, markQueuesDeleted } from "./store.ts";

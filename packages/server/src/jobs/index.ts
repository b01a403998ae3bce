export * from "./enqueue.ts";
export { type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./insert.ts";
export * from "./job.ts";
export * from "./metrics.ts";
export * from "./retry.ts";
export * from "./routes.ts";
export type { Hand } from "./tell.ts";
export * from "./weight.ts";

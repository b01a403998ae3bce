export * from "./enqueue.ts";
export * from "./job.ts";
export * from "./metrics.ts";
export * from "./retry.ts";
export * from "./routes.ts";
export type { Hand } from "./tell.ts";
export * from "./weight.ts";

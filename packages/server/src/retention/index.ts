export * from "./fold-tally.ts";
export * from "./partitions.ts";
export * from "./sweep-queues.ts";

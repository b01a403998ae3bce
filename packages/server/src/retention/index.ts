export * from "./fold-tally.ts";
export * from "./partitions.ts";
export * from "./sweep-keys.ts";
export * from "./sweep-queues.ts";
export * from "./sweep-workspaces.ts";

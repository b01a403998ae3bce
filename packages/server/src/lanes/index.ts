export * from "./lane.ts";
export * from "./signals.ts";
export * from "./store.ts";

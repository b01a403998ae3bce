export * from "./failed-lanes.ts";
export * from "./lane.ts";
export * from "./lane-cache.ts";
export * from "./not-found.ts";
export * from "./signals.ts";
export * from "./store.ts";

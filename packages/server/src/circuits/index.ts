export * from "./circuits.ts";
export * from "./store.ts";

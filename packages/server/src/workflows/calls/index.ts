export * from "./begin.ts";
export * from "./check-templates.ts";
export * from "./kind.ts";
export * from "./read-call.ts";
export { findPendingCalls, isCallWanted } from "./store.ts";
export * from "./withdraw.ts";

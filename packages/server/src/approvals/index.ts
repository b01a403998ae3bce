export * from "./approvals.ts";
export * from "./decide.ts";
export * from "./list.ts";

export { readQuota } from "./read.ts";
export * from "./record.ts";
export type { RequestRate } from "./request-rate.ts";
export { openQuotas, takeExecutions } from "./take-executions.ts";
export * from "./usage.ts";

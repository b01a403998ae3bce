export * from "./fold.ts";
export { readQuota } from "./read.ts";
export * from "./request-rate.ts";
export * from "./routes.ts";
export { openQuotas, takeExecutions } from "./take-executions.ts";

export * from "./authenticate.ts";
export * from "./json-body.ts";
export * from "./method-not-allowed.ts";
export * from "./openapi.ts";
export * from "./paging.ts";
export type { RateLimiter, Taken } from "./rate-limit.ts";
export * from "./server.ts";
export { compileArrayOr } from "./validate.ts";

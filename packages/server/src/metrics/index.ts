export * from "./metrics.ts";
export * from "./observe-service.ts";
export * from "./read-service-totals.ts";

export * from "./carrier.ts";
export * from "./endpoint.ts";

export * from "./kinds-of-route.ts";
export * from "./live.ts";

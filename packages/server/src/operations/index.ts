export * from "./operations.ts";

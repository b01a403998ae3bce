export * from "./workers.ts";

export * from "./callbacks.ts";

export * from "./operations.ts";
export { removeOperations } from "./store.ts";

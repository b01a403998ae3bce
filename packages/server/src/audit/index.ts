export * from "./actor.ts";
export * from "./audit.ts";
export { type AuditRow, listAuditEvents } from "./list.ts";
export * from "./record.ts";
export { removeChains } from "./store.ts";
export * from "./verify.ts";

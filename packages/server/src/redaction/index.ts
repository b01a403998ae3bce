export * from "./keep-result.ts";
export * from "./redact.ts";

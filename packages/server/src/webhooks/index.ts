export * from "./webhooks.ts";

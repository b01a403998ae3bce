export * from "./record.ts";
export * from "./routes.ts";
export * from "./verify.ts";

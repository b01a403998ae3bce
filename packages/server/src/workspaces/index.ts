export * from "./api-key.ts";
export * from "./create-key.ts";
export * from "./create-workspace.ts";
export * from "./find-principal.ts";
export * from "./routes.ts";
export * from "./workspace.ts";

export * from "./decide.ts";
export * from "./decide-overdue.ts";
export * from "./list.ts";
export * from "./routes.ts";

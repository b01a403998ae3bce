export * from "./pushes.ts";

export * from "./give-runs.ts";
export { type ProveExecution, readSteps } from "./report-steps.ts";
export { runKind } from "./run-kind.ts";
export * from "./sweep.ts";
export * from "./workflows.ts";

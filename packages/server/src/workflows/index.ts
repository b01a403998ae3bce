export { giveHook } from "./give-hooks.ts";
export * from "./give-runs.ts";
export { hookKind } from "./hook-kind.ts";
export { type ProveExecution, readSteps } from "./report-steps.ts";
export { runKind } from "./run-kind.ts";
export * from "./sweep.ts";
export * from "./workflows.ts";

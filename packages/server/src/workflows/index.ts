export { giveHook } from "./give-hooks.ts";
export * from "./give-runs.ts";
export { hookKind } from "./hook-kind.ts";
export { readProgress, storeProgress } from "./progress.ts";
export { type ProveExecution, readSteps } from "./report-steps.ts";
export { runKind } from "./run-kind.ts";
export { startScheduledRuns } from "./start-scheduled-runs.ts";
export * from "./sweep.ts";
export * from "./workflows.ts";

export { giveHook } from "./give-hooks.ts";
export * from "./give-runs.ts";
export { hookKind } from "./hook-kind.ts";
export { type ProveExecution, readSteps } from "./report-steps.ts";
export { type RunReport, runKind } from "./run-kind.ts";
export { startScheduledRuns } from "./start-scheduled-runs.ts";
export type { StepToInsert } from "./step-store.ts";
export * from "./sweep.ts";
export * from "./workflows.ts";

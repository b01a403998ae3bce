export { ExecutionTokens } from "./execution-tokens.ts";
export { type FilledPayload, type FillSecrets, fillInput } from "./fill-secrets.ts";
export { invalidFieldOf, readOutcome, readReported, resultText, tooLarge } from "./outcome.ts";
export { ENDPOINT } from "./verify-report.ts";
export { showWorkId } from "./work-id.ts";
export { WORKER_GONE_SECONDS, WORKER_HOLDS_A_JOB } from "./worker-gone.ts";
export * from "./workers.ts";

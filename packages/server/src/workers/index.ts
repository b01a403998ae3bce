export { ExecutionTokens } from "./execution-tokens.ts";
export { misfitOf, readOutcome, resultText, tooLarge } from "./outcome.ts";
export { showWorkId } from "./work-id.ts";
export * from "./workers.ts";

export type { HttpMock } from "./answer-call.ts";
export { type SignalAnswers, timesOut } from "./answers.ts";
export type { SentByRun } from "./memory-run.ts";
export type { Failures, Mocks } from "./substitutes.ts";
export { type TestedRun, type TestOptions, type TestSettings, testWorkflow } from "./test-workflow.ts";

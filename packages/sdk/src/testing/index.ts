export type { HttpMock } from "./answer-call.ts";
export { neverEnds, type SignalAnswers, timesOut } from "./answers.ts";
export type { CrashMode } from "./crashes.ts";
export type { Invokes } from "./invokes.ts";
export type { SentByRun } from "./memory-run.ts";
export { type ExportedRun, type JournalCheck, type ReplayOptions, replayJournal } from "./replay-journal.ts";
export type { Failures, Mocks } from "./substitutes.ts";
export { type TestedRun, type TestOptions, type TestSettings, testWorkflow } from "./test-workflow.ts";

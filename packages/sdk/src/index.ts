export type {
  AttemptError,
  AuditEvent,
  Changes,
  CreatedInvitation,
  CreateQueue,
  CreateSchedule,
  DeadLetterGroup,
  Deploy,
  ErrorCode,
  Explanation,
  Invitation,
  JobCount,
  JobFilter,
  JobState,
  Key,
  LiveEvent,
  Member,
  Metrics,
  Operation,
  RunEvent,
  RunJournal,
  Schedule,
  Secret,
  Status,
  Usage,
  Webhook,
} from "@tidemill/contract";
export { type QueueOptions, Tidemill } from "./client.ts";
export type { EnqueueOptions, TriggerOptions } from "./delays.ts";
export { TidemillError, type TidemillErrorCode } from "./error.ts";
export type { EnqueuedJob, Job, JobWithLog, NewJob } from "./job.ts";
export type { CallOptions, TidemillOptions } from "./options.ts";
export type { List, Page } from "./page.ts";
export type { Queue } from "./queue.ts";
export type { SendOptions } from "./resources/events.ts";
export type { StandardSchema } from "./schema.ts";
export { expressHandler, fastifyPlugin, honoHandler, nextHandler, nodeHandler } from "./serve/adapters.ts";
export type { ServeOptions } from "./serve/options.ts";
export { type RegisterOptions, type Serve, serve } from "./serve/serve.ts";
export { InvalidSignatureError } from "./verify/invalid-signature.ts";
export type { FetchRequest, RawRequest } from "./verify/request.ts";
export { type Callback, type VerifyOptions, verifyCallback } from "./verify/verify-callback.ts";
export { verifyWebhook, type WebhookPayload } from "./verify/verify-webhook.ts";
export { JobAbortedError, NonRetryableError, RetryAfterError } from "./worker/errors.ts";
export type { WorkerJob } from "./worker/job.ts";
export type { Logger } from "./worker/logger.ts";
export type { Handler, QueueHandler, WorkerOptions } from "./worker/options.ts";
export { Worker } from "./worker/worker.ts";
export type {
  EventSent,
  EventToSend,
  Run,
  RunStepOptions,
  Step,
  StepContext,
  StepKey,
  Winner,
  WorkflowContext,
} from "./workflow/context.ts";
export type { Duration } from "./workflow/duration.ts";
export {
  DuplicateStepError,
  HttpError,
  InvalidStepError,
  JournalMismatchError,
  NestedStepError,
  NondeterminismError,
  RaceError,
  RunAbortedError,
  SignalTimeoutError,
  StepCancelledError,
  StepError,
  StepTimeoutError,
  UnawaitedStepError,
} from "./workflow/errors.ts";
export type { CancelContext, FailureContext, LifecycleHooks, SuccessContext } from "./workflow/hooks.ts";
export { type HttpRequest, type HttpResponse, type JsonOf, json } from "./workflow/http-request.ts";
export type { InvocableWorkflow, InvokedRun, WorkflowToInvoke } from "./workflow/invoke.ts";
export { WorkflowCancelledError, WorkflowFailedError, WorkflowTimeoutError } from "./workflow/invoke-errors.ts";
export type { AtMostADay } from "./workflow/invoke-timeout.ts";
export type { Remembered } from "./workflow/remembered.ts";
export { type SignalDefinition, signal, type WorkflowSignals } from "./workflow/signal.ts";
export { type CronSchedule, cron, type EventDefinition, event, type Start, type Starts } from "./workflow/start.ts";
export { type AnyWorkflow, type Workflow, type WorkflowOptions, workflow } from "./workflow/workflow.ts";

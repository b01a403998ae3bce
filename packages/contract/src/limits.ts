/** Limits of the API. */
export const LIMITS = {
  payloadBytes: 1024 * 1024,
  bodyBytes: 2 * 1024 * 1024,
  batchBodyBytes: 16 * 1024 * 1024,
  batchJobs: 1_000,
  attempts: 100,
  /** The longest wait before the next attempt. */
  backoffMs: 86_400_000,
  /** Jobs of a queue, or executions of a workflow, in flight at once. */
  concurrency: 100_000,
  jsonDepth: 64,
  tagLength: 128,
  /** A text that payloads are searched for. */
  payloadFilterLength: 256,
  /** Jobs that a request for an operation names. */
  operationIds: 1_000,
  concurrencyKeyLength: 256,
  idempotencyKeyLength: 256,
  delaySeconds: 31_536_000,
  cronLength: 256,
  resultBytes: 64 * 1024,
  httpTimeoutMs: 900_000,
  workerNameLength: 128,
  workQueues: 100,
  /** Jobs that one call of a worker takes or settles. */
  workJobs: 500,
  extendJobs: 1_000,
  workWorkflows: 100,
  codeVersionLength: 64,
  /** Versions of the code for which workers ask for runs of a workflow. */
  workflowVersions: 100,
  /** Steps in the journal of a run, and how large their outputs and errors are together. */
  journalSteps: 10_000,
  journalBytes: 32 * 1024 * 1024,
  /** Steps of a failed run that a retry executes again: a whole journal. */
  retrySteps: 10_000,
  stepKeyLength: 256,
  /** Steps that one call reports. */
  reportedSteps: 100,
  /** Triggers in one call. */
  triggers: 1_000,
  /** Reports of runs in one call, and their steps together. */
  stepReports: 100,
  stepsOfReports: 1_000,
  /** The progress that a run reports. */
  progressBytes: 4 * 1024,
  eventNameLength: 128,
  signalIdLength: 256,
  /** How long a step waits for a run that it has started. */
  invokeTimeoutMs: 86_400_000,
  /** How many runs may have started one another in a row. */
  invokeDepth: 16,
  /** Signals of one run whose waits have not ended. */
  pendingSignals: 100,
  /** Events that one workflow may be started by. */
  workflowEvents: 100,
  /** About how many bytes of a journal are sent to an `endpoint_url`. The program fetches a longer one. */
  pushedJournalBytes: 256 * 1024,
  /** The response of an `endpoint_url`. */
  outcomeBytes: 256 * 1024,
  /** Workflows that one event may start. */
  eventWorkflows: 100,
  leaseSeconds: 43_200,
  workWaitSeconds: 30,
  workerErrorLength: 16_384,
  errorNameLength: 256,
  callbackHeaders: 50,
  callbackHeaderNameLength: 256,
  callbackHeaderLength: 4_096,
  callbackUrlLength: 2_048,
  /** Webhooks of a workspace. */
  webhooks: 20,
  /** The part of a webhook endpoint's response that is stored. */
  webhookResponseCharacters: 2_000,
  webhookAttemptsLogged: 50,
  secretBytes: 64 * 1024,
  secretNameLength: 128,
  /** How many different secrets one callback may contain. */
  callbackSecrets: 100,
  /** How many templates one text may contain. */
  textTemplates: 1_000,
  /** How much secrets may add to one callback: its address, headers and body together. */
  templateGrowthBytes: 128 * 1024,
} as const;

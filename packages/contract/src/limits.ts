/** Size limits of the API. */
export const LIMITS = {
  payloadBytes: 1024 * 1024,
  bodyBytes: 2 * 1024 * 1024,
  batchBodyBytes: 16 * 1024 * 1024,
  batchJobs: 1_000,
  jsonDepth: 64,
  tagLength: 128,
  concurrencyKeyLength: 256,
  idempotencyKeyLength: 256,
  delaySeconds: 31_536_000,
  cronLength: 256,
  resultBytes: 64 * 1024,
  workerNameLength: 128,
  workQueues: 100,
  /** Jobs that one call of a worker takes or settles. */
  workJobs: 500,
  extendJobs: 1_000,
  workWorkflows: 100,
  /** Steps that one call reports. */
  reportedSteps: 100,
  /** What a run says of its progress. */
  progressBytes: 4 * 1024,
  eventNameLength: 128,
  signalIdLength: 256,
  /** Events that one workflow may be started by. */
  workflowEvents: 100,
  /** Workflows that one event may start. */
  eventWorkflows: 100,
  leaseSeconds: 43_200,
  workWaitSeconds: 30,
  workerErrorLength: 16_384,
  callbackHeaders: 50,
  callbackHeaderLength: 4_096,
  callbackUrlLength: 2_048,
  secretBytes: 64 * 1024,
  secretNameLength: 128,
  /** How many different secrets one callback may contain. */
  callbackSecrets: 100,
  /** How many templates one text may contain. */
  textTemplates: 1_000,
  /** How much secrets may add to one callback: its address, headers and body together. */
  templateGrowthBytes: 128 * 1024,
} as const;

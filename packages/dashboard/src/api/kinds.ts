/** Kinds of records, as `GET /v1/live` names those that changed. Query keys are `[workspaceId, kind, …]`. */
export const KINDS = [
  "jobs",
  "queues",
  "approvals",
  "schedules",
  "workflows",
  "runs",
  "workers",
  "secrets",
  "keys",
  "members",
  "webhooks",
  "deploys",
  "circuits",
] as const;
/** `settled` does not change by itself, or no event names it: usage, audit events, metrics. */
export type Kind = (typeof KINDS)[number] | "settled";

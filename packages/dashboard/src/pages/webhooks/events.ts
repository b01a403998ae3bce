import type { WebhookEvent } from "@tidemill/contract";

/** Every type of event, with when it happens. */
const EVENTS: Readonly<Record<WebhookEvent, string>> = {
  "job.completed": "A job completed",
  "job.failed": "A job went to the dead letters",
  "approval.requested": "A job waits for a decision",
  "approval.decided": "A job was approved or rejected",
  "circuit.opened": "An endpoint failed 20 times in a row",
  "circuit.closed": "An endpoint works again",
  "schedule.skipped": "A schedule skipped ticks",
  "quota.threshold": "80 or 100 percent of the executions are used",
  "run.completed": "A run completed",
  "run.failed": "A run failed",
  "run.cancelled": "A run was cancelled",
  "run.waiting_for_code": "A run waits for other code",
  "workflow.hook.errored": "A lifecycle hook failed",
};

export const EVENT_TYPES = Object.keys(EVENTS) as WebhookEvent[];
export const meaningOf = (type: WebhookEvent): string => EVENTS[type];

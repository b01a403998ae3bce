import { ERRORS, type Plan, planHas, type Queue as QueueRecord, type QueueType } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Random, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { AddressGuard } from "#outbound";

/** A queue, with its lane, as view `queue_record` has it. Durations are in the unit that their name ends with; `callback_timeout` is in seconds. */
export interface Queue {
  readonly workspace_id: WorkspaceId;
  readonly id: LaneId;
  readonly name: string;
  readonly type: QueueType;
  readonly callback_url: string | null;
  readonly callback_headers: string;
  readonly callback_timeout: number;
  readonly callback_secret: string | null;
  readonly attempts: number;
  readonly backoff_delay_ms: number;
  readonly concurrency: number | null;
  readonly concurrency_per_key: number;
  /** After a change of `concurrency_per_key`: slots of the keys after this one are to be assigned again; null when that is done. */
  readonly reassign_after_key: string | null;
  readonly rate_max: number | null;
  readonly rate_seconds: number | null;
  readonly paused: boolean;
  /** Seconds. */
  readonly approval_timeout: number | null;
  readonly on_timeout: "reject" | "approve";
  readonly revision: number;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** Who asks for a change, as the audit log names the actor, and on what plan. */
export interface Caller {
  readonly workspaceId: WorkspaceId;
  readonly plan: Plan;
  readonly actorId: string;
}

/** What it takes to make and change queues. */
export interface QueueMaker {
  readonly random: Random;
  readonly audit: AuditLog;
  readonly guard: Pick<AddressGuard, "refusesHost">;
}

/** The HMAC key of a queue's callbacks: `cbs_` and 43 base64url characters. Source: contract §3. */
export const makeCallbackSecret = (random: Random): string => `cbs_${random.bytes(32).toString("base64url")}`;

/** The record as the API shows it to a workspace on that plan, without its secret. */
export function showQueue(queue: Queue, plan: Plan): QueueRecord {
  const stopped = queue.callback_url !== null && !planHas(plan, "callback_url");
  return {
    name: queue.name,
    type: queue.type,
    callback_url: queue.callback_url,
    callback_headers: JSON.parse(queue.callback_headers) as Record<string, string>,
    callback_timeout: queue.callback_timeout,
    has_callback_secret: queue.callback_secret !== null,
    defaultJobOptions: { attempts: queue.attempts, backoff: { type: "exponential", delay: queue.backoff_delay_ms } },
    callbacks_stopped: stopped ? { code: "PLAN_REQUIRED", message: ERRORS.PLAN_REQUIRED.message } : null,
    concurrency: queue.concurrency,
    concurrency_per_key: queue.concurrency_per_key,
    rate_limit: queue.rate_max === null || queue.rate_seconds === null ? null : { max: queue.rate_max, per_seconds: queue.rate_seconds },
    paused: queue.paused,
    approval: queue.type === "approval" ? { timeout: queue.approval_timeout, on_timeout: queue.on_timeout } : null,
    created_at: queue.created_at,
    updated_at: queue.updated_at,
  };
}

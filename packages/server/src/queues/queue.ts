import { HIDDEN, type Plan, planHas, type Queue as QueueRecord, type QueueType } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { hasRole, type Principal } from "#http";
import type { Random, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { AddressGuard } from "#outbound";
import { describeMissing } from "#workspaces";

/** A queue with its lane, as a row of view `queue_record`. */
export interface Queue {
  readonly workspace_id: WorkspaceId;
  readonly id: LaneId;
  readonly name: string;
  readonly type: QueueType;
  readonly callback_url: string | null;
  readonly callback_headers: string;
  /** Seconds. */
  readonly callback_timeout: number;
  readonly callback_secret: string | null;
  readonly attempts: number;
  readonly backoff_delay_ms: number;
  readonly concurrency: number | null;
  readonly concurrency_per_key: number;
  /** A change of `concurrency_per_key` is being applied: slots of the keys after this one are still to be reassigned. Null: it is done. */
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

/** Who creates or changes a queue, and the plan of their workspace. */
export interface QueueActor extends Actor {
  readonly plan: Plan;
}

/** What creating and changing queues needs. */
export interface QueueContext {
  readonly random: Random;
  readonly audit: AuditLog;
  readonly guard: Pick<AddressGuard, "refusesHost">;
}

/** The record as the API shows it to the holder of a key, without its secret. Values of headers are shown to those who can set them. */
export function showQueue(queue: Queue, principal: Pick<Principal, "plan" | "role">): QueueRecord {
  const stopped = queue.callback_url !== null && !planHas(principal.plan, "callback_url");
  const headers = Object.entries(JSON.parse(queue.callback_headers) as Record<string, string>);
  const shown = (value: string) => (hasRole(principal, "write") ? value : HIDDEN);
  return {
    name: queue.name,
    type: queue.type,
    callback_url: queue.callback_url,
    callback_headers: Object.fromEntries(headers.map(([name, value]) => [name, shown(value)])),
    callback_timeout: queue.callback_timeout,
    has_callback_secret: queue.callback_secret !== null,
    defaultJobOptions: { attempts: queue.attempts, backoff: { type: "exponential", delay: queue.backoff_delay_ms } },
    callbacks_stopped: stopped ? { code: "PLAN_REQUIRED", message: describeMissing(principal.plan, "callback_url") } : null,
    concurrency: queue.concurrency,
    concurrency_per_key: queue.concurrency_per_key,
    rate_limit: queue.rate_max === null || queue.rate_seconds === null ? null : { max: queue.rate_max, per_seconds: queue.rate_seconds },
    paused: queue.paused,
    approval: queue.type === "approval" ? { timeout: queue.approval_timeout, on_timeout: queue.on_timeout } : null,
    created_at: queue.created_at,
    updated_at: queue.updated_at,
  };
}

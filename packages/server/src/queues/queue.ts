import type { Queue as QueueRecord } from "@tidemill/contract";
import type { Random, Timestamp, WorkspaceId } from "#kernel";

/** What jobs wait in: a queue's id, unique over all workspaces. */
export type LaneId = number & { readonly __of: "lane" };

/** A queue as it is stored. Durations are in the unit that their name ends with; `callback_timeout` is in seconds. */
export interface Queue {
  readonly workspace_id: WorkspaceId;
  readonly id: LaneId;
  readonly name: string;
  readonly type: "standard" | "approval";
  readonly callback_url: string | null;
  readonly callback_headers: string;
  readonly callback_timeout: number;
  readonly callback_secret: string | null;
  readonly attempts: number;
  readonly backoff_delay_ms: number;
  readonly paused: boolean;
  readonly revision: number;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** The HMAC key of a queue's callbacks: `cbs_` and 43 base64url characters. Source: contract §3. */
export const makeCallbackSecret = (random: Random): string => `cbs_${random.bytes(32).toString("base64url")}`;

/** The record as the API shows it, without its secret. */
export function showQueue(queue: Queue): QueueRecord {
  return {
    name: queue.name,
    type: queue.type,
    callback_url: queue.callback_url,
    callback_headers: JSON.parse(queue.callback_headers) as Record<string, string>,
    callback_timeout: queue.callback_timeout,
    has_callback_secret: queue.callback_secret !== null,
    defaultJobOptions: { attempts: queue.attempts, backoff: { type: "exponential", delay: queue.backoff_delay_ms } },
    paused: queue.paused,
    created_at: queue.created_at,
    updated_at: queue.updated_at,
  };
}

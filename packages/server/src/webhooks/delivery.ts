import type { DeliveryAttempt, Delivery as DeliveryRecord, DeliveryState } from "@tidemill/contract";
import { type JobId, notFound, type ProblemError, type Timestamp, typeId, type Uuid, uuidOf } from "#kernel";

/** A delivery with its event. The job that delivers it has its id. */
export interface Delivery {
  readonly id: JobId;
  readonly event_id: Uuid;
  readonly type: string;
  readonly state: DeliveryState;
  readonly requested: boolean;
  readonly attempts: number;
  readonly next_attempt_at: Timestamp | null;
  readonly response_status: number | null;
  readonly response_body: string | null;
  /** JSON text. */
  readonly last_error: string | null;
  readonly attempts_log: string;
  readonly created_at: Timestamp;
  readonly ended_at: Timestamp | null;
}

/** What the deliverer reports about a response, for `settled`: JSON text in the attempt's report. */
export interface DeliveryReport {
  readonly body: string | null;
  readonly durationMs: number;
}

export const showDeliveryId = (id: JobId): string => typeId("whd", id);
export const readDeliveryId = (text: string): JobId | null => uuidOf("whd", text) as JobId | null;
export const showEventId = (id: Uuid): string => typeId("whk", id);

const BEFORE_ID = '{"id":"';

/** The body of an event, as JSON text. */
export const bodyOf = (head: { readonly id: string; readonly type: string; readonly timestamp: string }, data: string): string =>
  `${JSON.stringify(head).slice(0, -1)},"data":${data}}`;

const LEADING_ID = /^(\{(?:"\w+" : (?:null|"[a-z]+_\w{26}"), )?"\w+" : ")(job|run):([0-9a-f-]{36})"/;

/** Rewrites the ids at the beginning of an event's data to the form in which the API shows them. */
export function withTypeIds(data: string): string {
  const shown = data.replace(LEADING_ID, (_, before: string, prefix: "job" | "run", id: Uuid) => `${before}${typeId(prefix, id)}"`);
  return shown === data ? data : withTypeIds(shown);
}

/** The id of the event with this body. */
export const eventIdOf = (body: string): string => body.slice(BEFORE_ID.length, body.indexOf('"', BEFORE_ID.length));

export const deliveryNotFound = (id: string, webhook: string): ProblemError => notFound({ resource: "delivery", id, webhook });

export const showDelivery = (delivery: Delivery): DeliveryRecord => ({
  id: showDeliveryId(delivery.id),
  event_id: showEventId(delivery.event_id),
  type: delivery.type,
  state: delivery.state,
  requested: delivery.requested,
  attempts: delivery.attempts,
  next_attempt_at: delivery.next_attempt_at,
  response_status: delivery.response_status,
  response_body: delivery.response_body,
  last_error: delivery.last_error === null ? null : JSON.parse(delivery.last_error),
  attempts_log: JSON.parse(`[${delivery.attempts_log}]`) as DeliveryAttempt[],
  created_at: delivery.created_at,
  ended_at: delivery.ended_at,
});

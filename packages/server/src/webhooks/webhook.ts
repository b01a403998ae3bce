import { HIDDEN, type Plan, planHas, type WebhookEvent, type Webhook as WebhookRecord } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { hasRole, type Principal } from "#http";
import { type Clock, momentMs, type Random, type Timestamp, type UuidSource, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { AddressGuard } from "#outbound";

/** A webhook with its lane, as a row of view `webhook_record`. */
export interface Webhook {
  readonly workspace_id: WorkspaceId;
  readonly id: LaneId;
  readonly name: string;
  readonly revision: number;
  readonly url: string;
  /** JSON text. */
  readonly headers: string;
  readonly events: readonly WebhookEvent[];
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly previous_secret_until: Timestamp | null;
  readonly disabled_at: Timestamp | null;
  readonly disabled_for: "failing" | "request" | null;
  readonly failing_since: Timestamp | null;
  readonly last_success_at: Timestamp | null;
  readonly created_at: Timestamp;
  readonly updated_at: Timestamp;
}

/** Who creates or changes a webhook, and the plan of their workspace. */
export interface WebhookActor extends Actor {
  readonly plan: Plan;
}

/** What creating and changing webhooks needs. */
export interface WebhookContext {
  readonly random: Random;
  readonly ids: UuidSource;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly guard: Pick<AddressGuard, "refusesHost">;
}

const SECRET_PREFIX = "whsec_";

/** A new secret: `whsec_` and the base64 of 32 bytes. Source: contract §14. */
export const generateWebhookSecret = (random: Pick<Random, "bytes">): string => SECRET_PREFIX + random.bytes(32).toString("base64");

/** The HMAC key of a secret: the bytes that its base64 stands for. Source: https://www.standardwebhooks.com */
export const keyBytesOf = (secret: string): Buffer => Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");

/** The record as the API shows it, without its secret. Values of headers are shown to those who can set them. */
export function showWebhook(webhook: Webhook, principal: Pick<Principal, "plan" | "role">, nowMs: number): WebhookRecord {
  const headers = Object.entries(JSON.parse(webhook.headers) as Record<string, string>);
  const shown = (value: string) => (hasRole(principal, "write") ? value : HIDDEN);
  const { disabled_at: at, disabled_for: reason, previous_secret_until: until } = webhook;
  return {
    name: webhook.name,
    url: webhook.url,
    events: [...webhook.events],
    headers: Object.fromEntries(headers.map(([name, value]) => [name, shown(value)])),
    enabled: at === null,
    disabled: at === null || reason === null ? null : { reason, at },
    stopped: planHas(principal.plan, "webhooks") ? null : "PLAN_REQUIRED",
    failing_since: webhook.failing_since,
    last_success_at: webhook.last_success_at,
    previous_secret_until: until !== null && momentMs(until) > nowMs ? until : null,
    created_at: webhook.created_at,
    updated_at: webhook.updated_at,
  };
}

import { createSecretKey, type KeyObject } from "node:crypto";
import { type RequestTarget, readTarget } from "#callbacks";
import { type Db, momentMs } from "#kernel";
import { createLaneCache, type LaneCache } from "#lanes";
import type { AddressGuard } from "#outbound";
import { findWebhooksAcrossWorkspaces } from "./store.ts";
import { keyBytesOf, type Webhook } from "./webhook.ts";

/** Where and how events are sent to a webhook. */
export interface WebhookEndpoint extends RequestTarget {
  readonly revision: number;
  readonly webhook: string;
  readonly key: KeyObject;
  /** Key of the secret before the last rotation. It also signs until `untilMs` (milliseconds since 1970). */
  readonly previous: { readonly key: KeyObject; readonly untilMs: number } | null;
  /** Whether nothing may be sent to the host. */
  readonly isBlocked: boolean;
  /** Whether the webhook is switched off: only what was requested since then is sent. */
  readonly isOff: boolean;
}

/** The endpoints of webhooks. The endpoint of a deleted webhook is null. */
export type WebhookEndpoints = LaneCache<WebhookEndpoint>;

export const webhookEndpoints = (db: Db, guard: Pick<AddressGuard, "refusesHost">): WebhookEndpoints =>
  createLaneCache({
    find: (lanes) => findWebhooksAcrossWorkspaces(db, lanes),
    make: (webhook) => endpointOf(webhook, guard),
  });

function endpointOf(webhook: Webhook, guard: Pick<AddressGuard, "refusesHost">): WebhookEndpoint {
  const { previous_secret: previous, previous_secret_until: until } = webhook;
  const target = readTarget("url", webhook.url, JSON.parse(webhook.headers) as Record<string, string>);
  return {
    ...target,
    revision: webhook.revision,
    webhook: webhook.name,
    key: createSecretKey(keyBytesOf(webhook.secret)),
    previous: previous !== null && until !== null ? { key: createSecretKey(keyBytesOf(previous)), untilMs: momentMs(until) } : null,
    isBlocked: guard.refusesHost(target.host),
    isOff: webhook.disabled_at !== null,
  };
}

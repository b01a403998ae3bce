import { createSecretKey, type KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type RequestTarget, readTarget } from "#callbacks";
import type { Claim } from "#jobs";
import { type Db, momentMs } from "#kernel";
import type { LaneId } from "#lanes";
import type { AddressGuard } from "#outbound";
import { findWebhookOfLane } from "./store.ts";
import { keyBytesOf, type Webhook } from "./webhook.ts";

/** Where and how events are sent to a webhook. */
export interface Endpoint extends RequestTarget {
  readonly revision: number;
  readonly webhook: string;
  readonly key: KeyObject;
  /** Signs besides, until then. Milliseconds since 1970. */
  readonly previous: { readonly key: KeyObject; readonly untilMs: number } | null;
  /** Whether nothing may be sent to the host. */
  readonly isBlocked: boolean;
}

const MAX_ENDPOINTS = 10_000;

/** Caches the endpoints of webhooks. A claim has the revision of its webhook, so that it never uses older settings. */
export class Endpoints {
  readonly #db: Db;
  readonly #guard: Pick<AddressGuard, "refusesHost">;
  readonly #known = new LRUCache<LaneId, Endpoint>({ max: MAX_ENDPOINTS });

  constructor(db: Db, guard: Pick<AddressGuard, "refusesHost">) {
    this.#db = db;
    this.#guard = guard;
  }

  /** Null when the webhook was deleted. */
  async of({ workspaceId, laneId, revision }: Claim): Promise<Endpoint | null> {
    const known = this.#known.get(laneId);
    if (known && known.revision >= revision) return known;
    const webhook = await findWebhookOfLane(this.#db, { workspaceId, laneId });
    if (!webhook) {
      this.#known.delete(laneId);
      return null;
    }
    const endpoint = this.#endpointOf(webhook);
    this.#known.set(laneId, endpoint);
    return endpoint;
  }

  #endpointOf(webhook: Webhook): Endpoint {
    const { previous_secret: previous, previous_secret_until: until } = webhook;
    const target = readTarget("url", webhook.url, JSON.parse(webhook.headers) as Record<string, string>);
    return {
      ...target,
      revision: webhook.revision,
      webhook: webhook.name,
      key: createSecretKey(keyBytesOf(webhook.secret)),
      previous: previous !== null && until !== null ? { key: createSecretKey(keyBytesOf(previous)), untilMs: momentMs(until) } : null,
      isBlocked: this.#guard.refusesHost(target.host),
    };
  }
}

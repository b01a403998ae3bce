import type {
  CreateWebhook,
  Delivery,
  DeliveryWithPayload,
  ListDeliveries,
  ListWebhooks,
  PatchWebhook,
  Webhook,
  WebhookWithSecret,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Webhooks: endpoints that get events of the workspace. */
export class Webhooks {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListWebhooks = {}, call?: CallOptions): List<Webhook, ListWebhooks> {
    return this.#api.list("/v1/webhooks", filter, call);
  }

  /** Creates a webhook. Only this response contains the secret for `verifyWebhook`. */
  create(webhook: CreateWebhook, call?: CallOptions): Promise<WebhookWithSecret> {
    return this.#api.post("/v1/webhooks", webhook, call);
  }

  get(name: string, call?: CallOptions): Promise<Webhook> {
    return this.#api.get(pathOf("webhooks", name), call);
  }

  /**
   * Changes a webhook. With `rotate_secret`, only this response contains the new secret. For 24 hours, deliveries are signed with both
   * secrets.
   */
  update(name: string, changes: PatchWebhook, call?: CallOptions): Promise<WebhookWithSecret> {
    return this.#api.patch(pathOf("webhooks", name), changes, call);
  }

  delete(name: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("webhooks", name), call);
  }

  /** Sends a test event. The returned delivery is pending: get it again later to see its outcome. */
  test(name: string, call?: CallOptions): Promise<Delivery> {
    return this.#api.post(pathOf("webhooks", name, "test"), undefined, call);
  }

  deliveries(name: string, filter: ListDeliveries = {}, call?: CallOptions): List<Delivery, ListDeliveries> {
    return this.#api.list(pathOf("webhooks", name, "deliveries"), filter, call);
  }

  /** A delivery with the body that it sends. */
  delivery(name: string, id: string, call?: CallOptions): Promise<DeliveryWithPayload> {
    return this.#api.get(pathOf("webhooks", name, "deliveries", id), call);
  }

  /** Delivers the event of an earlier delivery again. */
  replay(name: string, id: string, call?: CallOptions): Promise<Delivery> {
    return this.#api.post(pathOf("webhooks", name, "deliveries", id, "replay"), undefined, call);
  }
}

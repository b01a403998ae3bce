import type { CreateWebhook, PatchWebhook } from "@tidemill/contract";
import { checkHeadersField, checkUrlField } from "#outbound";
import type { WebhookContext } from "./webhook.ts";

/**
 * Checks address and headers of a webhook beyond their shape.
 *
 * @throws VALIDATION_ERROR for a host that is too long or that may not be reached, and for a template that is malformed or in the wrong place
 */
export function checkWebhook(guard: WebhookContext["guard"], { url, headers = {} }: Partial<CreateWebhook> | PatchWebhook): void {
  if (url !== undefined) checkUrlField(guard, "url", url);
  checkHeadersField("headers", headers);
}

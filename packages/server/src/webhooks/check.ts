import { type CreateWebhook, type PatchWebhook, parseTemplates, TemplateError } from "@tidemill/contract";
import { invalid } from "#kernel";
import { hostFault, readCallbackUrl } from "#outbound";
import type { WebhookContext } from "./webhook.ts";

/**
 * Checks address and headers of a webhook beyond their shape.
 *
 * @throws VALIDATION_ERROR for a host that is too long or that may not be reached, and for a template that is malformed or in the wrong place
 */
export function checkWebhook(guard: WebhookContext["guard"], { url, headers = {} }: Partial<CreateWebhook> | PatchWebhook): void {
  if (url !== undefined) {
    const { hostname } = inField("url", () => readCallbackUrl(url));
    const fault = hostFault(guard, hostname);
    if (fault) throw invalid("url", fault);
  }
  for (const [name, value] of Object.entries(headers)) inField(`headers.${name}`, () => parseTemplates(value));
}

function inField<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw error instanceof TemplateError ? invalid(path, error.message) : error;
  }
}

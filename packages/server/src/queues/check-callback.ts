import { type CreateQueue, type PatchQueue, parseTemplates, TemplateError } from "@tidemill/contract";
import { invalid } from "#kernel";
import { type AddressGuard, hostFault, readCallbackUrl } from "#outbound";

/**
 * Checks a request's callback settings beyond their shape.
 *
 * @throws VALIDATION_ERROR for a host that is too long or that callbacks may not reach, and for a template that is malformed or in the wrong place
 */
export function checkCallback(
  guard: Pick<AddressGuard, "refusesHost">,
  { callback_url, callback_headers }: CreateQueue | PatchQueue,
): void {
  if (callback_url) {
    const { hostname } = inField("callback_url", () => readCallbackUrl(callback_url));
    const fault = hostFault(guard, hostname);
    if (fault) throw invalid("callback_url", fault);
  }
  for (const [name, value] of Object.entries(callback_headers ?? {})) inField(`callback_headers.${name}`, () => parseTemplates(value));
}

function inField<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw error instanceof TemplateError ? invalid(path, error.message) : error;
  }
}

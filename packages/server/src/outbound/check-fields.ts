import { parseTemplates, TemplateError } from "@tidemill/contract";
import { invalid } from "#kernel";
import type { AddressGuard } from "./address-guard.ts";
import { type CallbackUrl, readCallbackUrl } from "./callback-url.ts";
import { hostFault } from "./check-host.ts";

/**
 * Reads the address in a field of a request.
 *
 * @param path of the field, for errors
 * @throws VALIDATION_ERROR for a malformed address, and for a template that is malformed or in the wrong place
 */
export const readUrlField = (path: string, url: string): CallbackUrl => inField(path, () => readCallbackUrl(url));

/**
 * The same, for an address that must be reachable.
 *
 * @throws VALIDATION_ERROR also for a host that is too long or that nodes may not reach
 */
export function checkUrlField(guard: Pick<AddressGuard, "refusesHost">, path: string, url: string): void {
  const fault = hostFault(guard, readUrlField(path, url).hostname);
  if (fault) throw invalid(path, fault);
}

/**
 * Checks the templates in headers of a request.
 *
 * @param path of the field that has the headers, for errors
 * @throws VALIDATION_ERROR for a malformed template
 */
export function checkHeadersField(path: string, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) inField(`${path}.${name}`, () => parseTemplates(value));
}

function inField<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw error instanceof TemplateError ? invalid(path, error.message) : error;
  }
}

import type { CreateQueue, PatchQueue } from "@tidemill/contract";
import { type AddressGuard, checkHeadersField, checkUrlField } from "#outbound";

/**
 * Checks a request's callback settings beyond their shape.
 *
 * @throws VALIDATION_ERROR for a host that is too long or that callbacks may not reach, and for a template that is malformed or in the wrong place
 */
export function checkCallback(
  guard: Pick<AddressGuard, "refusesHost">,
  { callback_url, callback_headers = {} }: CreateQueue | PatchQueue,
): void {
  if (callback_url) checkUrlField(guard, "callback_url", callback_url);
  checkHeadersField("callback_headers", callback_headers);
}

import { type CreateQueue, type PatchQueue, parseTemplates, TemplateError } from "@tidemill/contract";
import { invalid } from "#kernel";
import { type AddressGuard, readCallbackUrl } from "#outbound";

/**
 * Checks a request's callback settings beyond their shape. Host names are not resolved here: the addresses that they resolve to can
 * change, so they are checked when a callback connects.
 *
 * @throws VALIDATION_ERROR for a host that is too long or that callbacks may not reach, and for a template that is malformed or in the wrong place
 */
export function checkCallback(
  guard: Pick<AddressGuard, "refusesHost">,
  { callback_url, callback_headers }: CreateQueue | PatchQueue,
): void {
  if (callback_url) {
    const { hostname } = inField("callback_url", () => readCallbackUrl(callback_url));
    if (isTooLong(hostname)) throw invalid("callback_url", TOO_LONG);
    if (guard.refusesHost(hostname)) throw invalid("callback_url", refusalOf(hostname));
  }
  for (const [name, value] of Object.entries(callback_headers ?? {})) inField(`callback_headers.${name}`, () => parseTemplates(value));
}

/** Source: RFC 1035, section 2.3.4. A name of 255 octets is written in 253 characters. */
const MAX_HOST_CHARACTERS = 253;
const MAX_LABEL_CHARACTERS = 63;

const TOO_LONG = `must have a host of at most ${MAX_HOST_CHARACTERS} characters, of which at most ${MAX_LABEL_CHARACTERS} stand between two dots`;

function isTooLong(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return name.length > MAX_HOST_CHARACTERS || name.split(".").some((label) => label.length > MAX_LABEL_CHARACTERS);
}

const refusalOf = (hostname: string): string =>
  `names ${hostname}, where callbacks may not go: loopback, private and other special addresses are blocked unless the operator allows them`;

function inField<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw error instanceof TemplateError ? invalid(path, error.message) : error;
  }
}

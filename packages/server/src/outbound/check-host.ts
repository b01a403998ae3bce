import type { AddressGuard } from "./address-guard.ts";

/** Source: RFC 1035, section 2.3.4. A name of 255 octets is written in 253 characters. */
const MAX_HOST_CHARACTERS = 253;
const MAX_LABEL_CHARACTERS = 63;

const TOO_LONG = `must have a host of at most ${MAX_HOST_CHARACTERS} characters, of which at most ${MAX_LABEL_CHARACTERS} stand between two dots`;

/**
 * Why nothing may be sent to a host, as the end of a sentence about the setting. Null: it may be. Names are not resolved here: the
 * addresses that they resolve to can change, so they are checked when a request connects.
 */
export function hostFault(guard: Pick<AddressGuard, "refusesHost">, hostname: string): string | null {
  if (isTooLong(hostname)) return TOO_LONG;
  if (!guard.refusesHost(hostname)) return null;
  return `names ${hostname}, where callbacks may not go: loopback, private and other special addresses are blocked unless the operator allows them`;
}

function isTooLong(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return name.length > MAX_HOST_CHARACTERS || name.split(".").some((label) => label.length > MAX_LABEL_CHARACTERS);
}

import { LIMITS } from "@tidemill/contract/limits";
import { givenText } from "../given-text.ts";

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Latin-1 without control characters, tabs allowed. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that belong to the connection. */
const OF_CONNECTION = /^(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/i;

/** The headers of a call as the service takes them. @throws {TypeError} naming the header that is wrong */
export function callHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  if (typeof headers !== "object" || headers === null) throw new TypeError(`headers must be an object, not ${givenText(headers)}.`);
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  if (given.length > LIMITS.callbackHeaders)
    throw new TypeError(`headers may have at most ${LIMITS.callbackHeaders} entries, not ${given.length}.`);
  for (const [name, value] of given) checkHeader(name, value);
  return Object.fromEntries(given);
}

function checkHeader(name: string, value: unknown): void {
  if (!NAME.test(name) || name.length > LIMITS.callbackHeaderNameLength)
    throw new TypeError(`headers has ${givenText(name)}, which is not a valid header name.`);
  if (OF_CONNECTION.test(name)) throw new TypeError(`headers must not have ${name}: it belongs to the connection.`);
  if (typeof value !== "string") throw new TypeError(`headers.${name} must be a string, not ${givenText(value)}.`);
  if (!VALUE.test(value)) throw new TypeError(`headers.${name} has characters that the value of a header may not have.`);
  if (value.length > LIMITS.callbackHeaderLength)
    throw new TypeError(`headers.${name} must have at most ${LIMITS.callbackHeaderLength} characters, not ${value.length}.`);
}

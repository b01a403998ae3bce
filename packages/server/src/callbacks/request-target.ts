import { parseTemplates, TemplateError, type TemplatePart } from "@tidemill/contract";
import { isHeaderValue } from "#http";
import { readCallbackUrl } from "#outbound";
import { type Encode, secretNamesIn, type TemplateFiller, unencoded } from "#vault";
import { withPlace } from "./request-content-error.ts";

/** Where a request goes, and its headers. Both may contain templates. */
export interface RequestTarget {
  readonly origin: string;
  readonly host: string;
  /** Path and query. */
  readonly path: readonly TemplatePart[];
  readonly headers: Readonly<Record<string, readonly TemplatePart[]>>;
  /** Names of the secrets in the path and the headers. */
  readonly secrets: readonly string[];
}

/**
 * Reads the templates of an address and of headers.
 *
 * @param place the name of the address in errors
 * @throws {RequestContentError} when one is invalid
 */
export function readTarget(place: string, url: string, given: Readonly<Record<string, string>>): RequestTarget {
  const { origin, hostname: host, path } = withPlace(place, () => readCallbackUrl(url));
  const headers = mapValues(given, (value, name) => withPlace(`header ${name}`, () => parseTemplates(value)));
  return { origin, host, path, headers, secrets: secretNamesIn([path, ...Object.values(headers)]) };
}

/** Path and headers with the values of their secrets. @throws {RequestContentError} when a value does not fit */
export function fillTarget(place: string, target: Omit<RequestTarget, "host" | "secrets">, filler: TemplateFiller) {
  return {
    path: withPlace(place, () => pathOf(target, filler)),
    headers: mapValues(target.headers, (parts, name) => withPlace(`header ${name}`, () => headerOf(filler.fill(parts, unencoded)))),
  };
}

/** The path with its values. Each value stays within one component of the path. */
function pathOf({ origin, path }: Pick<RequestTarget, "origin" | "path">, filler: TemplateFiller): string {
  const filled = filler.fill(path, asComponent);
  if (path.every((part) => typeof part === "string")) return filled;
  const read = URL.parse(origin + filled);
  // "." and ".." are not percent-encoded, and as whole segments they would change the path.
  if (!read || read.pathname + read.search !== filled) throw new TemplateError("has a secret that would change the address's path");
  return filled;
}

/** Encodes a value so that it stays one component of a path or query: all but RFC 3986's unreserved characters. */
const asComponent: Encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

function headerOf(value: string): string {
  if (isHeaderValue(value)) return value;
  throw new TemplateError("has a secret with characters that a header may not have, such as line breaks");
}

const mapValues = <From, To>(record: Readonly<Record<string, From>>, map: (value: From, name: string) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));

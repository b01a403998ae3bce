import { LIMITS, TemplateError } from "@tidemill/contract";
import { isHeaderValue } from "#http";
import type { SlicedWork } from "#kernel";
import { type Encode, fillPayload, type PayloadTemplate, parsePayload, secretNamesIn, TemplateFiller, unencoded } from "#vault";
import { type Endpoint, mapValues } from "./endpoint.ts";
import { placed, RequestContentError, withPlace } from "./request-content-error.ts";

/** The parts of a callback's request that may contain secrets. */
export interface RequestContent {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly payload: string;
}

/** The templates of a callback's content, before their secrets are filled in. */
export interface ContentTemplates {
  /** Names of the secrets. */
  readonly secrets: readonly string[];
  /** @param values the values of these secrets, by name */
  fill(values: ReadonlyMap<string, string>): SlicedWork<RequestContent>;
}

/**
 * Reads the templates of an attempt.
 *
 * @throws {RequestContentError} when a payload from before templates were checked has an invalid one, or they name too many secrets
 */
export function* readTemplates(endpoint: Endpoint, payload: string): SlicedWork<ContentTemplates> {
  const template = yield* payloadTemplateOf(payload);
  const secrets = [...new Set([...endpoint.secrets, ...secretNamesIn(template.strings)])];
  if (secrets.length > LIMITS.callbackSecrets)
    throw new RequestContentError(`The callback names more than ${LIMITS.callbackSecrets} secrets.`);
  return {
    secrets,
    fill: (values) => fillContent(endpoint, template, new TemplateFiller(values)),
  };
}

function* payloadTemplateOf(payload: string): SlicedWork<PayloadTemplate> {
  try {
    return yield* parsePayload(payload);
  } catch (error) {
    throw placed("payload", error);
  }
}

/** @throws {RequestContentError} when a value does not fit into a path or header, or the values together are too large */
function* fillContent(endpoint: Endpoint, template: PayloadTemplate, filler: TemplateFiller): SlicedWork<RequestContent> {
  const { path, headers } = endpoint.plain ?? {
    path: withPlace("callback_url", () => pathOf(endpoint, filler)),
    headers: mapValues(endpoint.headers, (parts, name) => withPlace(`header ${name}`, () => headerOf(filler.fill(parts, unencoded)))),
  };
  try {
    return { path, headers, payload: yield* fillPayload(template, filler) };
  } catch (error) {
    throw placed("payload", error);
  }
}

/** The path with its values, which stay single components of it. */
export function pathOf({ origin, path }: Pick<Endpoint, "origin" | "path">, filler: TemplateFiller): string {
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

export function headerOf(value: string): string {
  if (isHeaderValue(value)) return value;
  throw new TemplateError("has a secret with characters that a header may not have, such as line breaks");
}

import { LIMITS, TemplateError } from "@tidemill/contract";
import { isHeaderValue } from "#http";
import { type Encode, fillPayload, type PayloadTemplate, parsePayload, secretNamesIn, TemplateFiller, unencoded } from "#vault";
import { type Endpoint, mapValues } from "./endpoint.ts";
import { inPlace, LetterError } from "./letter-error.ts";

/** What of a callback secrets may stand in. */
export interface Letter {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly payload: string;
}

/** A letter whose secrets are still to be filled in. */
export interface Draft {
  readonly secrets: readonly string[];
  /** @param values of those secrets, by name */
  fill(values: ReadonlyMap<string, string>): Letter;
}

/**
 * Reads the templates of an attempt.
 *
 * @throws {LetterError} for those of a payload that was stored before they were checked, or when they name too many secrets
 */
export function draftLetter(endpoint: Endpoint, payload: string): Draft {
  const template = inPlace("payload", () => parsePayload(payload));
  const secrets = [...new Set([...endpoint.secrets, ...secretNamesIn(template.strings)])];
  if (secrets.length > LIMITS.callbackSecrets) throw new LetterError(`The callback names more than ${LIMITS.callbackSecrets} secrets.`);
  return {
    secrets,
    fill: (values) => fillLetter(endpoint, template, new TemplateFiller(values)),
  };
}

/** @throws {LetterError} when what is filled in would be no path, no header, or too much */
const fillLetter = (endpoint: Endpoint, template: PayloadTemplate, filler: TemplateFiller): Letter => ({
  ...(endpoint.plain ?? {
    path: inPlace("callback_url", () => pathOf(endpoint, filler)),
    headers: mapValues(endpoint.headers, (parts, name) => inPlace(`header ${name}`, () => headerOf(filler.fill(parts, unencoded)))),
  }),
  payload: inPlace("payload", () => fillPayload(template, filler)),
});

function pathOf({ origin, path }: Endpoint, filler: TemplateFiller): string {
  const filled = filler.fill(path, asComponent);
  if (path.every((part) => typeof part === "string")) return filled;
  const read = URL.parse(origin + filled);
  // "." and ".." are not encoded, and as whole segments would lead elsewhere.
  if (!read || read.pathname + read.search !== filled) throw new TemplateError("has a secret that would change the address's path");
  return filled;
}

/** As part of a path or of a query, and nothing but a part: RFC 3986, unreserved characters alone. */
const asComponent: Encode = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

function headerOf(value: string): string {
  if (isHeaderValue(value)) return value;
  throw new TemplateError("has a secret with characters that a header may not have, line breaks say");
}

import { hasTemplate, LIMITS, parseTemplates, TemplateError, type TemplatePart } from "@tidemill/contract";
import { COLON, invalid, nextToken, QUOTE, tokenEnd } from "#kernel";
import type { Encode, TemplateFiller } from "./template-filler.ts";

/** The first characters of a template, escaped in JSON. */
const ESCAPED_OPENING = /\\u00(24|7b)/i;

/** Whether JSON text may hold a template. True for few texts that hold none. */
export const mayHoldTemplates = (json: string): boolean => hasTemplate(json) || ESCAPED_OPENING.test(json);

/**
 * Checks the templates of a payload before it is stored: they may only stand in string values.
 *
 * @param path of the payload, for errors
 * @throws VALIDATION_ERROR with the path of the invalid string
 */
export function checkPayloadTemplates(json: string, path: string): void {
  if (!mayHoldTemplates(json)) return;
  const secrets = new Set<string>();
  checkValue(JSON.parse(json), path, secrets);
  // The parsed value has only the last of duplicate members, and the payload is sent with all of them.
  orRefuse(path, () => parsePayload(json));
  if (secrets.size > LIMITS.callbackSecrets) throw invalid(path, `names more than ${LIMITS.callbackSecrets} secrets`);
}

function checkValue(value: unknown, path: string, secrets: Set<string>): void {
  if (typeof value === "string") checkString(value, path, secrets);
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (hasTemplate(name)) throw invalid(path, "has a template in a member's name; templates stand in values");
    checkValue(inner, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, secrets);
  }
}

function checkString(text: string, path: string, secrets: Set<string>): void {
  for (const part of orRefuse(path, () => parseTemplates(text))) if (typeof part !== "string") secrets.add(part.secret);
}

function orRefuse<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? invalid(path, error.message) : error;
  }
}

/** A payload taken apart: the text between its templated strings, unchanged, and those strings parsed. */
export interface PayloadTemplate {
  readonly between: readonly string[];
  readonly strings: readonly (readonly TemplatePart[])[];
}

/**
 * Takes a payload apart at its strings that hold templates. Every other byte stays as it is.
 *
 * @param json valid JSON
 * @throws {TemplateError}
 */
export function parsePayload(json: string): PayloadTemplate {
  const between: string[] = [];
  const strings: TemplatePart[][] = [];
  let from = 0;
  for (let start = nextToken(json, 0), end: number; start < json.length; start = nextToken(json, end)) {
    end = tokenEnd(json, start);
    if (json.charCodeAt(start) !== QUOTE) continue;
    const source = json.slice(start, end);
    if (!mayHoldTemplates(source) || isName(json, end)) continue;
    const text = JSON.parse(source) as string;
    if (!hasTemplate(text)) continue;
    between.push(json.slice(from, start));
    strings.push(parseTemplates(text));
    from = end;
  }
  between.push(json.slice(from));
  return { between, strings };
}

/** The payload with values in place of its templates. It is JSON of the same shape, whatever the values hold. */
export const fillPayload = ({ between, strings }: PayloadTemplate, filler: TemplateFiller): string =>
  between.map((text, index) => (index === 0 ? text : `"${filler.fill(strings[index - 1] ?? [], inString, inString)}"${text}`)).join("");

const inString: Encode = (text) => JSON.stringify(text).slice(1, -1);

/** Whether the string before `end` is the name of a member. */
const isName = (json: string, end: number): boolean => json.charCodeAt(nextToken(json, end)) === COLON;

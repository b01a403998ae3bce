import { hasTemplate, LIMITS, parseTemplates, TemplateError, type TemplatePart } from "@tidemill/contract";
import { type Fragment, fragment, invalid, nextToken, Pauses, QUOTE, type SlicedWork, tokenEnd } from "#kernel";
import { PayloadPath } from "./payload-path.ts";
import { type Encode, secretNamesIn, type TemplateFiller } from "./template-filler.ts";

/** The first characters of a template, or one of them escaped in JSON. A search for the characters alone takes 6 ms for a megabyte of `$`. */
const OPENING = /\$\{\{|\\u00(24|7b)/i;
const STEPS_PER_TOKEN = 64;
const STEPS_PER_TEMPLATE = 256;

/** Whether JSON text may hold a template. True for few texts that hold none. */
export const mayHoldTemplates = (json: string): boolean => OPENING.test(json);

/** The same for a column in a statement. True for a few more texts. */
export const columnMayHoldTemplates = (column: Fragment): Fragment =>
  fragment`(strpos(${column}, '\${{') > 0 or strpos(${column}, '\\u00') > 0)`;

/** A template of a payload is invalid. */
class PayloadTemplateError extends TemplateError {
  /** The path of the value that contains the template, like "payload.items[3]". */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Checks the templates of a payload before it is stored: they may only stand in string values.
 *
 * @param path of the payload, for errors
 * @throws VALIDATION_ERROR with the path of the invalid string
 */
export function* checkPayloadTemplates(json: string, path: string): SlicedWork<void> {
  if (!mayHoldTemplates(json)) return;
  yield;
  try {
    const { strings } = yield* parsePayload(json, path);
    if (secretNamesIn(strings).length > LIMITS.callbackSecrets) throw invalid(path, `names more than ${LIMITS.callbackSecrets} secrets`);
  } catch (error) {
    throw error instanceof PayloadTemplateError ? invalid(error.path, error.message) : error;
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
 * @param path of the payload, for errors
 * @throws {PayloadTemplateError}
 */
export function* parsePayload(json: string, path = "payload"): SlicedWork<PayloadTemplate> {
  const between: string[] = [];
  const strings: TemplatePart[][] = [];
  const place = new PayloadPath(json, path);
  const pauses = new Pauses();
  let from = 0;
  for (let start = nextToken(json, 0), end: number; start < json.length; start = nextToken(json, end)) {
    end = tokenEnd(json, start);
    place.pass(start, end);
    if (pauses.after(STEPS_PER_TOKEN + end - start)) yield;
    if (json.charCodeAt(start) !== QUOTE) continue;
    const source = json.slice(start, end);
    const isCandidate = mayHoldTemplates(source);
    if (pauses.after(source.length)) yield;
    if (!isCandidate) continue;
    const text = JSON.parse(source) as string;
    const parts = orRefuse(place, () => partsOf(text, place));
    if (pauses.after(text.length + STEPS_PER_TEMPLATE * parts.length)) yield;
    if (parts.every((part) => typeof part === "string")) continue;
    strings.push(parts);
    between.push(json.slice(from, start));
    from = end;
  }
  between.push(json.slice(from));
  return { between, strings };
}

function partsOf(text: string, place: PayloadPath): TemplatePart[] {
  if (place.isName && hasTemplate(text)) throw new TemplateError("has a template in a member's name; templates stand in values");
  return parseTemplates(text);
}

function orRefuse<Result>(place: PayloadPath, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof TemplateError ? new PayloadTemplateError(place.path(), error.message) : error;
  }
}

/** The payload with its templates replaced by values. It is JSON of the same shape, whatever the values hold. */
export function* fillPayload({ between, strings }: PayloadTemplate, filler: TemplateFiller): SlicedWork<string> {
  const pauses = new Pauses();
  let filled = between[0] ?? "";
  for (const [index, parts] of strings.entries()) {
    const text = filler.fill(parts, inString, inString);
    filled += `"${text}"${between[index + 1]}`;
    if (pauses.after(text.length + STEPS_PER_TEMPLATE * parts.length)) yield;
  }
  return filled;
}

const inString: Encode = (text) => JSON.stringify(text).slice(1, -1);

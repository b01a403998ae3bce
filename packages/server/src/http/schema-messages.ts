import { EVENT_NAME, NAME, SECRET_NAME, SIGNAL_ID } from "@tidemill/contract";
import type { ErrorObject } from "ajv/dist/2020.js";
import { FORMAT_MESSAGES } from "./formats.ts";

/** JSON types as words in a message. */
const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
  null: "null",
};

const countOf = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? "" : "s"}`;
const atLeast = (count: number, thing: string): string =>
  count === 1 ? "must not be empty" : `must have at least ${countOf(count, thing)}`;
const atMost = (count: number, thing: string): string => `must have at most ${countOf(count, thing)}`;

/** The message for a broken schema rule. It follows the path in a sentence. */
export function messageOf({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case "type":
      return `must be ${[params.type]
        .flat()
        .map((type) => TYPES[type])
        .join(" or ")}`;
    case "format":
      return FORMAT_MESSAGES[params.format] ?? "is malformed";
    case "enum":
      return `must be one of ${params.allowedValues.join(", ")}`;
    case "const":
      return `must be ${JSON.stringify(params.allowedValue)}`;
    case "minimum":
      return `must be at least ${params.limit}`;
    case "maximum":
      return `must be at most ${params.limit}`;
    case "minLength":
      return atLeast(params.limit, "character");
    case "maxLength":
      return atMost(params.limit, "character");
    case "minItems":
      return atLeast(params.limit, "item");
    case "maxItems":
      return atMost(params.limit, "item");
    case "minProperties":
      return atLeast(params.limit, "field");
    case "maxProperties":
      return atMost(params.limit, "field");
    case "uniqueItems":
      return `must not have the same item twice: items ${params.j} and ${params.i} are equal`;
    case "pattern":
      return messageOfPattern(params.pattern);
    case "required":
      return "is required";
    default:
      return message ?? "is malformed";
  }
}

/** The patterns of the contract in words. */
const PATTERNS: Readonly<Record<string, string>> = {
  "^[A-Za-z0-9_-]{1,120}$": "must be a lease_token that came with a job",
  [NAME]: "must be 1 to 128 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
  "^(job|run|hook)_[0-7][0-9a-hjkmnp-tv-z]{25}$": "must be the id of a job, a run or a hook",
  [EVENT_NAME]:
    'must be lower-case letters, digits or underscores, in parts separated by dots, like "user.created"; slashes are not allowed',
  [SECRET_NAME]: "must be 1 to 128 capital letters, digits or underscores, and begin with a letter",
  [SIGNAL_ID]: 'must not be "." or ".."',
  "\\S": "must not be blank",
  "^[ -~]*$": "must contain only printable ASCII characters",
  "^cbs_[A-Za-z0-9_-]{43}$": "must be cbs_ followed by 43 letters, digits, dashes or underscores",
  "^[0-9a-f]{16}$": "must be the fingerprint of a group of failed jobs: 16 digits or letters from a to f",
  "^2[0-9]{3}-(0[1-9]|1[0-2])$": "must be a month like 2026-11",
};

/** Pattern of an id. Its prefix names the kind of resource. */
const ID_PATTERN = /^\^([a-z]+_)\[0-7\]/;

function messageOfPattern(pattern: string): string {
  const [, prefix] = ID_PATTERN.exec(pattern) ?? [];
  if (prefix !== undefined) return `must be an id that begins with ${prefix}`;
  return PATTERNS[pattern] ?? `must match the pattern "${pattern}"`;
}

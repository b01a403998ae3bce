import type { HttpCall } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";

export const OPENING = "${{";
const TEMPLATE = /\$\{\{\s*secrets\.([A-Z][A-Z0-9_]{0,127})\s*\}\}/;

/** Replaces the templates of a text. */
export const withoutTemplates = (text: string, value: string): string => text.replaceAll(new RegExp(TEMPLATE, "g"), value);

/** Checks the templates of a call. @throws {TypeError} naming the text with an invalid template */
export function checkCallTemplates({ url, headers = {}, body }: Pick<HttpCall, "url" | "headers" | "body">): void {
  const secrets = new Set([...namesIn("url", url), ...namesIn("headers", headers), ...namesIn("body", body)]);
  if (secrets.size > LIMITS.callbackSecrets)
    throw new TypeError(`A call may have at most ${LIMITS.callbackSecrets} different secrets, not ${secrets.size}.`);
}

/** The names of the secrets in the texts of a value. */
function* namesIn(field: string, value: unknown): Generator<string> {
  if (typeof value === "string") yield* namesInText(field, value);
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const isItem = Array.isArray(value);
    if (!isItem && name.includes(OPENING))
      throw new TypeError(`${field} has a template in the name of a member. Use templates only in values.`);
    yield* namesIn(isItem ? `${field}[${name}]` : `${field}.${name}`, member);
  }
}

function* namesInText(field: string, text: string): Generator<string> {
  if (!text.includes(OPENING)) return;
  for (const [, name = ""] of text.matchAll(new RegExp(TEMPLATE, "g"))) yield name;
  if (withoutTemplates(text, "\0").includes(OPENING))
    throw new TypeError(`${field} has ${OPENING} without a template. Write ${OPENING} secrets.NAME }}.`);
}

import { LIMITS } from "./limits.ts";

/** Source: specification, Secret. */
export const SECRET_NAME = `^[A-Z][A-Z0-9_]{0,${LIMITS.secretNameLength - 1}}$`;

/** A part of a text: literal text, or a secret whose value replaces the template. */
export type TemplatePart = string | { readonly secret: string };

/** A `${{` that does not begin a valid template. The message completes a sentence that begins with the name of the field. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

const OPENING = "${{";
const CLOSING = "}}";
const NAME = new RegExp(SECRET_NAME);
const LONGEST_SHOWN = 40;

export const hasTemplate = (text: string): boolean => text.includes(OPENING);

/**
 * Splits a text at its templates: `${{ secrets.NAME }}`, with optional white space inside the braces and without nesting.
 * Source: specification, Secret templates at dispatch; contract §9.
 *
 * @throws {TemplateError} for a `${{` that is not closed, has a namespace other than `secrets`, or lacks the name of a secret
 */
export function parseTemplates(text: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let opening = text.indexOf(OPENING); opening >= 0; opening = text.indexOf(OPENING, from)) {
    const closing = text.indexOf(CLOSING, opening);
    if (closing < 0) throw new TemplateError(`has a ${OPENING} without ${CLOSING}`);
    if (opening > from) parts.push(text.slice(from, opening));
    if (parts.length >= 2 * LIMITS.textTemplates) throw new TemplateError(`has more than ${LIMITS.textTemplates} templates in one text`);
    parts.push({ secret: secretIn(text.slice(opening + OPENING.length, closing)) });
    from = closing + CLOSING.length;
  }
  if (from < text.length || parts.length === 0) parts.push(text.slice(from));
  return parts;
}

function secretIn(inside: string): string {
  const reference = inside.trim();
  const [namespace = "", name = "", ...rest] = reference.split(".");
  if (namespace === "secrets" && rest.length === 0 && NAME.test(name)) return name;
  const shown = reference.length > LONGEST_SHOWN ? `${reference.slice(0, LONGEST_SHOWN)}…` : reference;
  if (namespace !== "secrets" && /^\w+$/.test(namespace) && name !== "") {
    throw new TemplateError(`has a template of the namespace "${namespace.slice(0, LONGEST_SHOWN)}"; there is only "secrets"`);
  }
  throw new TemplateError(`has a template that names no secret ("${shown}"); one reads ${OPENING} secrets.NAME ${CLOSING}`);
}

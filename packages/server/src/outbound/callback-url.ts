import { parseTemplates, TemplateError, type TemplatePart } from "@tidemill/contract";

/** A callback URL with its templates. */
export interface CallbackUrl {
  readonly origin: string;
  /** As the URL parser returns it: IPv6 addresses in brackets, names in ASCII. */
  readonly hostname: string;
  /** Path and query, percent-encoded except for the templates. */
  readonly path: readonly TemplatePart[];
}

const SHAPE = "must be an http or https URL without user, password or fragment, with templates in its path and query alone";

/**
 * Splits a callback URL into its parts. The URL parser decides in which part a template stands: each template is replaced by a
 * mark, and all marks must come back in the path and query. So the value of a secret can never change where a callback goes.
 *
 * @throws {TemplateError} for a URL that is not allowed
 */
export function readCallbackUrl(text: string): CallbackUrl {
  const parts = parseTemplates(text);
  const literals = parts.filter((part) => typeof part === "string");
  const secrets = parts.filter((part) => typeof part !== "string");
  const mark = markFor(literals.join(""));
  const marked = parts.map((part) => (typeof part === "string" ? part : mark)).join("");
  const url = URL.parse(marked);
  const pieces = url ? `${url.pathname}${url.search}`.split(mark) : [];
  const odd = literals.some((literal) => /[\s\0]/.test(literal)) || !text.isWellFormed() || !/^https?:\/\//i.test(marked);
  if (odd || !url?.hostname || url.username || url.password || url.hash || pieces.length !== secrets.length + 1) {
    throw new TemplateError(SHAPE);
  }
  const path = pieces.flatMap((piece, at) => [piece, secrets[at] ?? ""]).filter((part) => part !== "");
  return { origin: url.origin, hostname: url.hostname, path };
}

/** A mark that is not in the text, does not overlap itself, and is not changed by the URL parser: it is only found where it was put. */
function markFor(text: string): string {
  for (let number = 0; ; number += 1) if (!text.includes(`t${number}p`)) return `t${number}p`;
}

/** A notation that escapes characters. */
export interface EscapeSyntax {
  readonly pattern: RegExp;
  /** Decodes one escape sequence. The result is never longer than the sequence. */
  readonly decode: (escaped: string) => string;
}

/** How many layers of escapes are decoded: JSON in JSON, a URL in a URL, and the value's own. */
export const MAX_LAYERS = 8;
const MAX_CODE_POINT = 0x10ffff;
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v" };
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** A text as UTF-8 with one character per byte. */
export const bytesOf = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/**
 * JSON, JavaScript, Python, C and shells: `\n`, `\"`, `\x41`, `\101`, `\u0041`, `\u{41}`, `\U00000041`; URLs: `%41`; HTML and XML:
 * `&amp;`, `&#65;`, `&#x41;`.
 */
export const COMMON_ESCAPES: EscapeSyntax = {
  pattern:
    /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|[0-7]{1,3}|[\s\S])|%[\da-fA-F]{2}|&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|amp|lt|gt|quot|apos);/g,
  decode: (escaped) => {
    if (escaped.startsWith("%")) return byteOf(escaped.slice(1), 16);
    return escaped.startsWith("&") ? decodeEntity(escaped.slice(1, -1)) : decodeBackslash(escaped.slice(1));
  },
};

/** Mail: `=41`, and lines that continue after `=`. Decoded separately: in other texts an `=` often stands before hexadecimal digits. */
export const QUOTED_PRINTABLE: EscapeSyntax = {
  pattern: /=(?:\r?\n|[\da-fA-F]{2})/g,
  decode: (escaped) => (escaped.endsWith("\n") ? "" : byteOf(escaped.slice(1), 16)),
};

/** The bytes with one more layer of common escapes decoded each, until none is left. */
export function* unescapedLayers(bytes: string): Iterable<string> {
  let last = bytes;
  for (let layer = 0; layer < MAX_LAYERS; layer += 1) {
    const next = last.replace(COMMON_ESCAPES.pattern, COMMON_ESCAPES.decode);
    if (next === last) break;
    yield next;
    last = next;
  }
}

const byteOf = (digits: string, base: number): string => String.fromCharCode(Number.parseInt(digits, base) & 0xff);

function characterOf(digits: string, base: number): string {
  const point = Number.parseInt(digits, base);
  return bytesOf(point > MAX_CODE_POINT ? "\ufffd" : String.fromCodePoint(point));
}

function decodeBackslash(escaped: string): string {
  const kind = escaped.charAt(0);
  if (/[0-7]/.test(kind)) return byteOf(escaped, 8);
  if (escaped.length === 1) return CONTROLS[kind] ?? kind;
  if (kind === "x") return byteOf(escaped.slice(1), 16);
  if (escaped.includes("\\")) return bytesOf(JSON.parse(`"\\${escaped}"`) as string);
  return characterOf(escaped.replace(/[^\da-f]/gi, ""), 16);
}

function decodeEntity(name: string): string {
  if (/^#x/i.test(name)) return characterOf(name.slice(2), 16);
  return name.startsWith("#") ? characterOf(name.slice(1), 10) : (ENTITIES[name] ?? name);
}

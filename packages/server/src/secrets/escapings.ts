import { ENTITIES } from "./entities.ts";

/** An escaping, over UTF-8 with one character per byte. No escape stands for more bytes than it has itself. */
export interface Escaping {
  /** Its escapes. */
  readonly pattern: RegExp;
  /** What an escape stands for. */
  readonly undo: (written: string) => string;
}

const MOST_CODE_POINT = 0x10ffff;
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v", a: "\x07", e: "\x1b" };

/** A text as UTF-8 with one character per byte. */
export const bytesOf = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

const byteOf = (digits: string, base: number): string => String.fromCharCode(Number.parseInt(digits, base) & 0xff);

function characterOf(digits: string, base: number): string {
  const point = Number.parseInt(digits, base);
  return bytesOf(point > MOST_CODE_POINT ? "\ufffd" : String.fromCodePoint(point));
}

/** JSON, JavaScript, Python, C and most shells: `\n`, `\"`, `\x41`, `\101`, `\u0041`, `\u{41}`, `\U00000041`. */
export const BACKSLASHES: Escaping = {
  pattern:
    /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|x[\da-fA-F]{2}|[0-7]{1,3}|[\s\S])/g,
  undo: (written) => {
    const kind = written.charAt(1);
    if (/[0-7]/.test(kind)) return byteOf(written.slice(1), 8);
    if (written.length === 2) return CONTROLS[kind] ?? kind;
    if (kind === "x") return byteOf(written.slice(2), 16);
    if (written.includes("\\", 1)) return bytesOf(JSON.parse(`"${written}"`) as string);
    return characterOf(written.replace(/[^\da-f]/gi, ""), 16);
  },
};

/** URLs and forms: `%41`, `+` for a space, and `%u0041` of old browsers. */
const PERCENTS: Escaping = {
  pattern: /%u[\da-fA-F]{4}|%[\da-fA-F]{2}|\+/g,
  undo: (written) => {
    if (written === "+") return " ";
    return written.charAt(1) === "u" ? characterOf(written.slice(2), 16) : byteOf(written.slice(1), 16);
  },
};

/** HTML and XML: `&amp;`, `&#65;`, `&#x41;`. */
const REFERENCES: Escaping = {
  pattern: /&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,20}(?=;));?/g,
  undo: (written) => {
    const name = written.replace(/^&|;$/g, "");
    if (/^#x/i.test(name)) return characterOf(name.slice(2), 16);
    if (name.startsWith("#")) return characterOf(name.slice(1), 10);
    const character = ENTITIES.get(name);
    return character === undefined ? written : bytesOf(character);
  },
};

/** Mail: `=41`, and lines that go on after `=`. */
const QUOTED_PRINTABLE: Escaping = {
  pattern: /=(?:\r?\n|[\da-fA-F]{2})/g,
  undo: (written) => (written.endsWith("\n") ? "" : byteOf(written.slice(1), 16)),
};

export const ESCAPINGS: readonly Escaping[] = [BACKSLASHES, PERCENTS, REFERENCES, QUOTED_PRINTABLE];

/** What stands between digits that belong together: the breaks of long lines, the colons of a fingerprint. */
export const GAPS: Escaping = { pattern: /[\t\n\r :]+/g, undo: () => "" };

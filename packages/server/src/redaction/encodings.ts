import { bytesOf, unescaped } from "./readings.ts";

/** What a value may look like in a text whose escapes are undone. */
export interface Form {
  /** One character per byte. */
  readonly bytes: string;
  /** Of which secret. */
  readonly name: string;
  /** How many digits of base64 before it, and after it, hold some of the value's bits, too. */
  readonly before: number;
  readonly after: number;
}

/** Shorter values are looked for as they are and no other way: their encodings stand in any text. */
const SHORTEST_VALUE = 4;
const SHORTEST_ENCODED = 6;
/** A number as those print it who keep it as a floating point number. */
const NUMBER = /^-?\d{1,40}(\.\d{1,40})?$/;
/** A longer value is looked for in no text that is shorter than it. */
export const LONGEST_NUMBER = 82;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** As it is, without escapes of its own, in other character sets, and quoted for forms, shells, SQL and CSV. */
export function writtenForms(name: string, value: string): Form[] {
  const bytes = bytesOf(value);
  if (value.length < SHORTEST_VALUE) return [formOf(name, bytes)];
  const plain = new Set([bytes, unescaped(bytes), unescaped(bytesOf(bytes))]);
  const others = [...numbers(value), ...inCharacterSets(value), ...[...plain].flatMap(quoted)];
  const long = others.filter((other) => other.length >= SHORTEST_ENCODED);
  return [...new Set([bytes, ...long])].map((other) => formOf(name, other));
}

/** As digits, which line breaks, commas and colons may stand between: hexadecimal, decimal and base64. */
export function digitForms(name: string, value: string): Form[] {
  if (value.length < SHORTEST_VALUE) return [];
  const bytes = Buffer.from(value);
  const hex = Array.from(bytes, (byte) => HEX[byte]);
  const digits = [hex.join(""), hex.join("-"), hex.join("0x"), bytes.join("")];
  const packed = [...new Set([bytesOf(value), bytesOf(JSON.stringify(value).slice(1, -1)), utf16(value).toString("latin1")])];
  const forms = [...digits.map((other) => formOf(name, other)), ...packed.flatMap((other) => inBase64(name, other))];
  return forms.filter((form) => form.bytes.length >= SHORTEST_ENCODED);
}

const formOf = (name: string, bytes: string): Form => ({ bytes, name, before: 0, after: 0 });

/** Also UTF-8 that was taken for Latin-1. */
const quoted = (bytes: string): string[] => [
  bytes,
  bytesOf(bytes),
  bytes.replaceAll(" ", "+"),
  bytes.replaceAll("+", " "),
  bytes.replaceAll("'", "'\\''"),
  bytes.replaceAll("'", "'''"),
  bytes.replaceAll("'", `'"'"'`),
  bytes.replaceAll("'", "''"),
  bytes.replaceAll('"', '""'),
];

function numbers(value: string): string[] {
  if (!NUMBER.test(value)) return [];
  const exponential = Number(value).toExponential();
  return [String(Number(value)), exponential, exponential.replace("+", "")];
}

const utf16 = (value: string): Buffer => Buffer.from(value, "utf16le");

/** UTF-16 of either kind, and Latin-1. */
function inCharacterSets(value: string): string[] {
  const latin1 = /^[\0-\xff]*$/.test(value) ? [value] : [];
  return [utf16(value).toString("latin1"), utf16(value).swap16().toString("latin1"), ...latin1];
}

/** Three bytes make four digits: what digits a byte gets depends on how many stand before it. */
const inBase64 = (name: string, bytes: string): Form[] =>
  [0, 1, 2].map((lead) => {
    const first = 8 * lead;
    const end = first + 8 * bytes.length;
    const digits = Buffer.from("\0".repeat(lead) + bytes, "latin1").toString("base64");
    return {
      bytes: digits.slice(Math.ceil(first / 6), Math.floor(end / 6)),
      name,
      before: first % 6 === 0 ? 0 : 1,
      after: end % 6 === 0 ? 0 : 1,
    };
  });

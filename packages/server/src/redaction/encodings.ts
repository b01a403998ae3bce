import { bytesOf, unescapeAll } from "./escapes.ts";

/** One way in which a value may stand in a text whose escapes are decoded. */
export interface EncodedValue {
  /** One character per byte. */
  readonly bytes: string;
  /** Name of the secret. */
  readonly secret: string;
  /** How many base64 digits before it also hold bits of the value. */
  readonly digitsBefore: number;
  /** How many after it do. */
  readonly digitsAfter: number;
}

/** Shorter values are looked for only as they are: their encodings occur in any text. */
const MIN_VALUE_LENGTH = 4;
const MIN_ENCODED_LENGTH = 6;
/** A number that a program may print as a floating-point number. */
const NUMBER = /^-?\d{1,40}(\.\d{1,40})?$/;
/** A longer value never stands in a text that is shorter than the value. */
export const MAX_NUMBER_LENGTH = 82;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Whether a value is too short to be looked for in anything but the text itself. */
export const isShort = (value: string): boolean => value.length < MIN_VALUE_LENGTH;

/** The value as it is, without its own escapes, in other character sets, and quoted for forms, shells, SQL and CSV. */
export function textEncodings(secret: string, value: string): EncodedValue[] {
  const bytes = bytesOf(value);
  if (isShort(value)) return [encodedValue(secret, bytes)];
  const plain = new Set([bytes, unescapeAll(bytes), unescapeAll(bytesOf(bytes))]);
  const others = [...asNumber(value), ...inCharacterSets(value), ...[...plain].flatMap(quoted)];
  const long = others.filter((other) => other.length >= MIN_ENCODED_LENGTH);
  return [...new Set([bytes, ...long])].map((other) => encodedValue(secret, other));
}

/** The value as hexadecimal, decimal and base64 digits. Line breaks, commas and colons may stand between the digits. */
export function digitEncodings(secret: string, value: string): EncodedValue[] {
  if (isShort(value)) return [];
  const bytes = Buffer.from(value);
  const hex = Array.from(bytes, (byte) => HEX[byte]);
  const digits = [hex.join(""), hex.join("-"), hex.join("0x"), bytes.join("")];
  const packed = [...new Set([bytesOf(value), bytesOf(JSON.stringify(value).slice(1, -1)), utf16(value).toString("latin1")])];
  const encoded = [...digits.map((other) => encodedValue(secret, other)), ...packed.flatMap((other) => inBase64(secret, other))];
  return encoded.filter((one) => one.bytes.length >= MIN_ENCODED_LENGTH);
}

const encodedValue = (secret: string, bytes: string): EncodedValue => ({ bytes, secret, digitsBefore: 0, digitsAfter: 0 });

/** The second is UTF-8 that a program took for Latin-1. */
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

function asNumber(value: string): string[] {
  if (!NUMBER.test(value)) return [];
  const exponential = Number(value).toExponential();
  return [String(Number(value)), exponential, exponential.replace("+", "")];
}

const utf16 = (value: string): Buffer => Buffer.from(value, "utf16le");

/** UTF-16 in both byte orders, and Latin-1. */
function inCharacterSets(value: string): string[] {
  const latin1 = /^[\0-\xff]*$/.test(value) ? [value] : [];
  return [utf16(value).toString("latin1"), utf16(value).swap16().toString("latin1"), ...latin1];
}

/** Three bytes make four digits, so the digits of a value depend on how many bytes stand before it, modulo three. */
const inBase64 = (secret: string, bytes: string): EncodedValue[] =>
  [0, 1, 2].map((lead) => {
    const first = 8 * lead;
    const end = first + 8 * bytes.length;
    const digits = Buffer.from("\0".repeat(lead) + bytes, "latin1").toString("base64");
    return {
      bytes: digits.slice(Math.ceil(first / 6), Math.floor(end / 6)),
      secret,
      digitsBefore: first % 6 === 0 ? 0 : 1,
      digitsAfter: end % 6 === 0 ? 0 : 1,
    };
  });

import { bytesOf, unescapedLayers } from "./escapes.ts";

/** One way in which a value may stand in a text whose escapes are decoded. */
export interface EncodedValue {
  /** One character per byte. */
  readonly bytes: string;
  /** How many base64 digits before it also hold bits of the value. */
  readonly digitsBefore: number;
  /** How many after it do. */
  readonly digitsAfter: number;
}

/** Shorter values are looked for only in their plain form: their encodings occur in any text. */
const MIN_VALUE_LENGTH = 4;
const MIN_ENCODED_LENGTH = 6;
/** A number that a program may print as a floating-point number. */
const NUMBER = /^-?\d{1,40}(\.\d{1,40})?$/;
/** A longer value never stands in a text that is shorter than the value. */
export const MAX_NUMBER_LENGTH = 82;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Whether a value is too short to be looked for in anything but the text itself. */
export const isShort = (value: string): boolean => value.length < MIN_VALUE_LENGTH;

/**
 * The value as it is, without its own escapes, in other character sets, and quoted for forms, shells, SQL and CSV. Encodings are made
 * one at a time; null stands for one that is too short, or equal to another.
 */
export function* textEncodings(value: string): Iterable<EncodedValue | null> {
  const bytes = bytesOf(value);
  yield encodedValue(bytes);
  if (isShort(value)) return;
  const known = new Set([bytes]);
  for (const other of otherTexts(value, bytes)) {
    const isNew = other !== null && other.length >= MIN_ENCODED_LENGTH && !known.has(other);
    if (isNew) known.add(other);
    yield isNew ? encodedValue(other) : null;
  }
}

/** The value as hexadecimal, decimal and base64 digits, one at a time. Line breaks, commas and colons may stand between the digits. */
export function* digitEncodings(value: string): Iterable<EncodedValue | null> {
  if (isShort(value)) return;
  for (const digits of inDigits(Buffer.from(value))) yield long(encodedValue(digits));
  const packed = new Set([bytesOf(value), bytesOf(JSON.stringify(value).slice(1, -1)), utf16(value).toString("latin1")]);
  for (const bytes of packed) for (const lead of [0, 1, 2]) yield long(inBase64(bytes, lead));
}

const long = (encoded: EncodedValue): EncodedValue | null => (encoded.bytes.length >= MIN_ENCODED_LENGTH ? encoded : null);

const encodedValue = (bytes: string): EncodedValue => ({ bytes, digitsBefore: 0, digitsAfter: 0 });

/** Further texts. Null: work was done that gives no text yet. */
function* otherTexts(value: string, bytes: string): Iterable<string | null> {
  yield* asNumber(value);
  yield* inCharacterSets(value);
  const plain = new Set([bytes]);
  for (const escaped of [bytes, bytesOf(bytes)]) {
    let last = escaped;
    for (last of unescapedLayers(escaped)) yield null;
    plain.add(last);
  }
  for (const one of plain) for (const quote of QUOTES) yield quote(one);
}

/** The second is UTF-8 that a program took for Latin-1. */
const QUOTES: readonly ((bytes: string) => string)[] = [
  (bytes) => bytes,
  bytesOf,
  (bytes) => bytes.replaceAll(" ", "+"),
  (bytes) => bytes.replaceAll("+", " "),
  (bytes) => bytes.replaceAll("'", "'\\''"),
  (bytes) => bytes.replaceAll("'", "'''"),
  (bytes) => bytes.replaceAll("'", `'"'"'`),
  (bytes) => bytes.replaceAll("'", "''"),
  (bytes) => bytes.replaceAll('"', '""'),
];

function asNumber(value: string): string[] {
  if (!NUMBER.test(value)) return [];
  const exponential = Number(value).toExponential();
  return [String(Number(value)), exponential, exponential.replace("+", "")];
}

const utf16 = (value: string): Buffer => Buffer.from(value, "utf16le");

/** UTF-16 in both byte orders, and Latin-1. */
function* inCharacterSets(value: string): Iterable<string> {
  yield utf16(value).toString("latin1");
  yield utf16(value).swap16().toString("latin1");
  if (/^[\0-\xff]*$/.test(value)) yield value;
}

function* inDigits(bytes: Buffer): Iterable<string> {
  yield bytes.toString("hex");
  const hex: string[] = [];
  for (const byte of bytes) hex.push(HEX[byte] as string);
  yield hex.join("-");
  yield hex.join("0x");
  yield bytes.join("");
}

/** Three bytes make four digits, so the digits of a value depend on how many bytes stand before it, modulo three. */
function inBase64(bytes: string, lead: number): EncodedValue {
  const first = 8 * lead;
  const end = first + 8 * bytes.length;
  const digits = Buffer.from("\0".repeat(lead) + bytes, "latin1").toString("base64");
  return {
    bytes: digits.slice(Math.ceil(first / 6), Math.floor(end / 6)),
    digitsBefore: first % 6 === 0 ? 0 : 1,
    digitsAfter: end % 6 === 0 ? 0 : 1,
  };
}

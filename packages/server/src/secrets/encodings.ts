import { bytesOf } from "./escapings.ts";
import { BASE32, BASE64, type Packing, packingsOf } from "./packings.ts";

/** What a value may look like in a text. */
export interface Form {
  /** In lower case, one character per byte. */
  readonly bytes: string;
  /** Whether it is digits, which line breaks and colons may stand between. */
  readonly digits: boolean;
  /** How many digits of base64 or base32 before it, and after it, hold some of the value's bits, too. */
  readonly before: number;
  readonly after: number;
}

/** Shorter encoded forms stand in too many texts by chance; the value itself is looked for whatever its length. */
const SHORTEST_ENCODED = 6;

/** In lower case: of ASCII alone, so that nothing moves. */
export const fold = (bytes: string): string =>
  /[\x80-\xff]/.test(bytes) ? bytes.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : bytes.toLowerCase();

const formOf = (bytes: string, more: Partial<Form> = {}): Form => ({ digits: false, before: 0, after: 0, ...more, bytes: fold(bytes) });

/**
 * The forms of a value that no undone escaping brings to light: as it is, in other character sets, quoted for shells, SQL and CSV,
 * backwards, and as digits: hexadecimal, decimal, base32, and base64 of it as it is, escaped, or in base64 already.
 */
export function formsOf(value: string): Form[] {
  const bytes = bytesOf(value);
  const forms = [
    ...written(value, bytes).map((other) => formOf(other)),
    ...[...inHex(bytes), inDecimal(bytes)].map((digits) => formOf(digits, { digits: true })),
    ...[...packingsOf(bytes, BASE32), ...inBase64(value, bytes)].map(({ digits, ...shared }) =>
      formOf(digits, { ...shared, digits: true }),
    ),
  ];
  const distinct = new Map(forms.filter((form) => form.bytes.length >= SHORTEST_ENCODED).map((form) => [form.bytes, form]));
  return [formOf(bytes), ...distinct.values()];
}

/** The value in other hands: their quotes, their numbers, their character sets. */
function written(value: string, bytes: string): string[] {
  const backwards = bytesOf([...value].reverse().join(""));
  const forms = [backwards, bytes.replaceAll("+", " "), ...quoted(bytes), ...numbers(value), ...utf16(value)];
  if (bytes.length === value.length) return forms;
  const readAsLatin1 = bytesOf(bytes);
  return /^[\0-\xff]*$/.test(value) ? [...forms, readAsLatin1, value] : [...forms, readAsLatin1];
}

const quoted = (bytes: string): string[] => [
  bytes.replaceAll("'", "'\\''"),
  bytes.replaceAll("'", `'"'"'`),
  bytes.replaceAll("'", "''"),
  bytes.replaceAll('"', '""'),
];

/** A number as those print it who keep it as a floating point number. */
function numbers(value: string): string[] {
  if (!/^-?\d+(\.\d+)?$/.test(value)) return [];
  const exponential = Number(value).toExponential();
  return [String(Number(value)), exponential, exponential.replace("+", "")];
}

/** Little endian and big endian. */
function utf16(value: string): [string, string] {
  const bytes = Buffer.from(value, "utf16le");
  return [bytes.toString("latin1"), Buffer.from(bytes).swap16().toString("latin1")];
}

function inHex(bytes: string): string[] {
  const hex = Buffer.from(bytes, "latin1").toString("hex");
  return ["", ",", "-", "0x", ",0x"].map((between) => hex.replace(/..(?=.)/g, `$&${between}`));
}

const inDecimal = (bytes: string): string => Buffer.from(bytes, "latin1").join(",");

function inBase64(value: string, bytes: string): Packing[] {
  const once = withUrlDigits(packingsOf(bytes, BASE64));
  const escaped = [JSON.stringify(value).slice(1, -1), encodeURIComponent(value.toWellFormed())];
  const others = [...escaped.filter((other) => other !== value).map(bytesOf), ...utf16(value)];
  const twice = once.flatMap(({ digits, before, after }) =>
    // A digit of the inner base64 that is shared has all of its eight bits in two or three of the outer's.
    packingsOf(digits, BASE64).map((outer) => ({ ...outer, before: outer.before + 2 * before, after: outer.after + 2 * after })),
  );
  return withUrlDigits([...once, ...others.flatMap((other) => packingsOf(other, BASE64)), ...twice]);
}

/** With the same in base64url, where that differs. */
const withUrlDigits = (packings: Packing[]): Packing[] =>
  packings.flatMap((packing) =>
    /[+/]/.test(packing.digits) ? [packing, { ...packing, digits: packing.digits.replaceAll("+", "-").replaceAll("/", "_") }] : packing,
  );

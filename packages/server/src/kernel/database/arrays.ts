import { ARRAY_HEADER_BYTES, arrayHeaderOf, INT32_BYTES, NULL_LENGTH } from "./binary-format.ts";
import { LargeTexts } from "./large-texts.ts";

/** A search for a string takes half the time of one for a pattern: 0.6 µs instead of 1.2 µs for a payload of 110 characters. */
function escaped(value: string): string {
  const slashed = value.includes("\\") ? value.replaceAll("\\", "\\\\") : value;
  return slashed.includes('"') ? slashed.replaceAll('"', '\\"') : slashed;
}

/** PostgreSQL's literal for a text array. Several times as fast as pg's own conversion of an array of strings. */
export function textArray(values: readonly (string | null)[]): string {
  let literal = "{";
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) literal += ",";
    const value = values[index];
    if (value == null) literal += "NULL";
    else literal += `"${escaped(value)}"`;
  }
  return `${literal}}`;
}

/** PostgreSQL's literal for an array of numbers, booleans or UUIDs, which need no quotes. */
export function plainArray(values: readonly (number | boolean | string | null)[]): string {
  let literal = "{";
  for (let index = 0; index < values.length; index += 1) literal += index > 0 ? `,${values[index]}` : `${values[index]}`;
  return `${literal}}`;
}

/** Longer texts are encoded and sent in pieces, in an array. */
export const MAX_WHOLE_CHARACTERS = 64 * 1024;

/**
 * An array of texts in PostgreSQL's binary format, for a parameter of the type `text[]`. Nothing is escaped: a payload of 110 characters
 * takes 0.2 µs instead of 0.7. To escape a megabyte of quotes took 20 ms. It pays off for JSON and for texts that may be large.
 */
export function binaryTextArray(values: readonly (string | null)[]): Buffer | LargeTexts {
  let characters = 0;
  for (const value of values) characters += value?.length ?? 0;
  return characters > MAX_WHOLE_CHARACTERS ? new LargeTexts(values) : encodeWhole(values);
}

function encodeWhole(values: readonly (string | null)[]): Buffer {
  let length = ARRAY_HEADER_BYTES + values.length * INT32_BYTES;
  for (const value of values) if (value !== null) length += Buffer.byteLength(value);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const field of arrayHeaderOf(values)) at = bytes.writeInt32BE(field, at);
  for (const value of values) {
    const written = value === null ? NULL_LENGTH : bytes.write(value, at + INT32_BYTES);
    at = bytes.writeInt32BE(written, at) + Math.max(0, written);
  }
  return bytes;
}

import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/**
 * Any code point but surrogates, as `fc.string({ unit: "binary" })` has them. That keeps a table of all of them for as long as its process
 * lives: 85 MB, which every later collection of garbage visits.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((at) => String.fromCodePoint(at < FIRST_SURROGATE ? at : at + SURROGATES));

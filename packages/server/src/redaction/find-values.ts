import type { SlicedWork } from "#kernel";
import type { DecodedText } from "./decode.ts";
import type { EncodedValue } from "./encodings.ts";
import type { WorkBudget } from "./work-budget.ts";

/** Called for each match with its range in the original text. */
export type OnMatch = (start: number, end: number, secret: string) => void;

/** The code that each byte is compared as; negative when it is ignored. */
export type Alphabet = Int16Array;

/** An encoded value costs making and normalizing, per character. */
const STEPS_PER_ENCODED_CHARACTER = 2;
/** A match costs more than a character that is looked at. */
const STEPS_PER_MATCH = 100;
/** How many codes an encoded value is indexed by. */
const PREFIX_LENGTH = 4;
/** The codes of encoded values share blocks of memory. The first is small, since most finders have few values; each next one is twice as large. */
const MIN_BLOCK_BYTES = 4 * 1024;
const MAX_BLOCK_BYTES = 64 * 1024;
const IGNORED = -1;
/** After how many positions of a text it is checked whether to pause. */
const POSITIONS_PER_CHECK = 1_024;

const alphabetOf = (normalized: (character: string) => string): Alphabet =>
  Int16Array.from({ length: 256 }, (_, byte) => {
    const code = normalized(String.fromCharCode(byte)).charCodeAt(0);
    return Number.isNaN(code) ? IGNORED : code;
  });

const lowerCase = (character: string): string => (/[A-Z]/.test(character) ? character.toLowerCase() : character);
/** Upper and lower case are the same. */
export const TEXT_ALPHABET: Alphabet = alphabetOf(lowerCase);
/** Base64 and base64url are also the same; line breaks, the commas of a list and the colons of a fingerprint are ignored. */
export const DIGIT_ALPHABET: Alphabet = alphabetOf((character) =>
  /[\t\n\r :,]/.test(character) ? "" : ({ "-": "+", _: "/" }[character] ?? lowerCase(character)),
);
const IS_BASE64_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) => Number(/[a-z\d+/]/.test(String.fromCharCode(byte))));
const PADDING = "=".charCodeAt(0);

/** Bytes in the codes of an alphabet, and the index of each in the bytes. */
interface NormalizedText {
  readonly codes: Uint8Array;
  readonly indexes: Int32Array;
}

function normalize(bytes: string, alphabet: Alphabet): NormalizedText {
  const codes = new Uint8Array(bytes.length);
  const indexes = new Int32Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = alphabet[bytes.charCodeAt(at)] as number;
    if (code < 0) continue;
    codes[length] = code;
    indexes[length] = at;
    length += 1;
  }
  return { codes: codes.subarray(0, length), indexes };
}

interface Needle {
  readonly encoded: EncodedValue;
  readonly codes: Uint8Array;
}

const slotOf = (prefix: number): number => Math.imul(prefix, 0x9e3779b1) >>> 16;

/** Finds many encoded values in one pass over a text. */
export class ValueFinder {
  readonly #alphabet: Alphabet;
  readonly #byPrefix = new Map<number, Needle[]>();
  /** Hashes of the prefixes that occur. They rule out most positions of a text. */
  readonly #slots = new Uint8Array(2 ** 16);
  /** Needles shorter than a prefix, by their first code. */
  readonly #short = new Map<number, Needle[]>();
  readonly #shortCodes = new Uint8Array(256);
  /** Memory for the codes of needles. Thousands of arrays of their own make garbage collections. */
  #block = new Uint8Array(0);
  #blockUsed = 0;
  #nextBlockBytes = MIN_BLOCK_BYTES;
  #minBytes = Number.POSITIVE_INFINITY;

  private constructor(alphabet: Alphabet) {
    this.#alphabet = alphabet;
  }

  /** Makes a finder. Stops adding values when the budget is exhausted. Null stands for work that gave no value. */
  static *of(alphabet: Alphabet, values: Iterable<EncodedValue | null>, budget: WorkBudget): SlicedWork<ValueFinder> {
    const finder = new ValueFinder(alphabet);
    for (const encoded of values) {
      if (encoded) {
        budget.spend(STEPS_PER_ENCODED_CHARACTER * encoded.bytes.length);
        if (budget.isExhausted) break;
        finder.#add({ encoded, codes: finder.#codesOf(encoded.bytes) });
      }
      yield* budget.pause();
    }
    return finder;
  }

  #codesOf(bytes: string): Uint8Array {
    if (this.#block.length - this.#blockUsed < bytes.length) {
      this.#block = new Uint8Array(Math.max(this.#nextBlockBytes, bytes.length));
      this.#blockUsed = 0;
      this.#nextBlockBytes = Math.min(2 * this.#nextBlockBytes, MAX_BLOCK_BYTES);
    }
    const from = this.#blockUsed;
    for (let at = 0; at < bytes.length; at += 1) {
      const code = this.#alphabet[bytes.charCodeAt(at)] as number;
      if (code >= 0) this.#block[this.#blockUsed++] = code;
    }
    return this.#block.subarray(from, this.#blockUsed);
  }

  #add(needle: Needle): void {
    const { codes, encoded } = needle;
    this.#minBytes = Math.min(this.#minBytes, encoded.bytes.length);
    const isShort = codes.length < PREFIX_LENGTH;
    const prefix = codes.subarray(0, isShort ? 1 : PREFIX_LENGTH).reduce((key, code) => (key << 8) | code, 0);
    const index = isShort ? this.#short : this.#byPrefix;
    if (isShort) this.#shortCodes[prefix] = 1;
    else this.#slots[slotOf(prefix)] = 1;
    const others = index.get(prefix);
    if (others) others.push(needle);
    else index.set(prefix, [needle]);
  }

  /** The length of the shortest encoded value. */
  get minBytes(): number {
    return this.#minBytes;
  }

  /** Reports every match in the original text, overlapping ones too, until the budget is exhausted. */
  *find(text: DecodedText, budget: WorkBudget, onMatch: OnMatch): SlicedWork<void> {
    const normalized = normalize(text.bytes, this.#alphabet);
    const { codes } = normalized;
    budget.spend(text.bytes.length + codes.length);
    const check = (needles: readonly Needle[] | undefined, at: number): void => {
      for (const needle of needles ?? []) {
        if (matchesAt(needle.codes, codes, at, budget)) onMatch(...rangeOf(needle, normalized, at, text), needle.encoded.secret);
      }
    };
    let prefix = 0;
    for (let at = 0; at < codes.length && !budget.isExhausted; at += 1) {
      const code = codes[at] as number;
      prefix = (prefix << 8) | code;
      if (this.#shortCodes[code] === 1) check(this.#short.get(code), at);
      if (at + 1 >= PREFIX_LENGTH && this.#slots[slotOf(prefix)] === 1) check(this.#byPrefix.get(prefix), at + 1 - PREFIX_LENGTH);
      if (at % POSITIONS_PER_CHECK === 0) yield* budget.pause();
    }
  }
}

function matchesAt(needle: Uint8Array, codes: Uint8Array, at: number, budget: WorkBudget): boolean {
  if (at + needle.length > codes.length) return false;
  let same = 0;
  while (same < needle.length && needle[same] === codes[at + same]) same += 1;
  const found = same === needle.length;
  budget.spend(1 + same + (found ? STEPS_PER_MATCH : 0));
  return found;
}

/** The match with the base64 digits around it that also hold bits of the value, and the padding. */
function rangeOf({ encoded, codes: needle }: Needle, text: NormalizedText, at: number, source: DecodedText): readonly [number, number] {
  const { codes, indexes } = text;
  let start = at;
  let end = at + needle.length;
  while (at - start < encoded.digitsBefore && IS_BASE64_DIGIT[codes[start - 1] ?? 0] === 1) start -= 1;
  for (let after = 0; after < encoded.digitsAfter && IS_BASE64_DIGIT[codes[end] ?? 0] === 1; after += 1) end += 1;
  if (encoded.digitsAfter > 0) while (codes[end] === PADDING) end += 1;
  return source.sourceRange(indexes[start] as number, (indexes[end - 1] as number) + 1);
}

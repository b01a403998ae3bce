import type { SlicedWork } from "#kernel";
import type { Alphabet } from "./alphabets.ts";
import type { DecodedText } from "./decode.ts";
import type { Needle } from "./value-forms.ts";
import type { WorkBudget } from "./work-budget.ts";

/** Called for each match with its range in the original text. */
export type OnMatch = (start: number, end: number, secret: string) => void;

/** A match costs more than checking a character. */
const STEPS_PER_MATCH = 100;
/** How many codes an encoded value is indexed by. */
const PREFIX_LENGTH = 4;
/** After how many positions of a text to check whether to pause. */
const POSITIONS_PER_CHECK = 1_024;

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

/** A needle, and the secret whose value it is. */
interface Sought {
  readonly needle: Needle;
  readonly secret: string;
}

const prefixOf = (codes: Uint8Array): number =>
  ((codes[0] as number) << 24) | ((codes[1] as number) << 16) | ((codes[2] as number) << 8) | (codes[3] as number);

const slotOf = (prefix: number): number => Math.imul(prefix, 0x9e3779b1) >>> 16;

/** Finds many encoded values in one pass over a text. */
export class ValueFinder {
  readonly #alphabet: Alphabet;
  readonly #byPrefix = new Map<number, Sought[]>();
  /** Hashes of the prefixes that occur. They rule out most positions of a text. */
  readonly #slots = new Uint8Array(2 ** 16);
  /** Needles shorter than a prefix, by their first code. */
  readonly #short = new Map<number, Sought[]>();
  readonly #shortCodes = new Uint8Array(256);
  #minBytes = Number.POSITIVE_INFINITY;

  constructor(alphabet: Alphabet) {
    this.#alphabet = alphabet;
  }

  add(needle: Needle, secret: string): void {
    const { codes, bytes } = needle;
    this.#minBytes = Math.min(this.#minBytes, bytes);
    const isShort = codes.length < PREFIX_LENGTH;
    const prefix = isShort ? (codes[0] ?? 0) : prefixOf(codes);
    const index = isShort ? this.#short : this.#byPrefix;
    if (isShort) this.#shortCodes[prefix] = 1;
    else this.#slots[slotOf(prefix)] = 1;
    const others = index.get(prefix);
    if (others) others.push({ needle, secret });
    else index.set(prefix, [{ needle, secret }]);
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
    const check = (sought: readonly Sought[] | undefined, at: number): void => {
      for (const { needle, secret } of sought ?? []) {
        if (matchesAt(needle.codes, codes, at, budget)) onMatch(...rangeOf(needle, normalized, at, text), secret);
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
function rangeOf(
  { codes: needle, digitsBefore, digitsAfter }: Needle,
  text: NormalizedText,
  at: number,
  source: DecodedText,
): readonly [number, number] {
  const { codes, indexes } = text;
  let start = at;
  let end = at + needle.length;
  while (at - start < digitsBefore && IS_BASE64_DIGIT[codes[start - 1] ?? 0] === 1) start -= 1;
  for (let after = 0; after < digitsAfter && IS_BASE64_DIGIT[codes[end] ?? 0] === 1; after += 1) end += 1;
  if (digitsAfter > 0) while (codes[end] === PADDING) end += 1;
  return source.sourceRange(indexes[start] as number, (indexes[end - 1] as number) + 1);
}

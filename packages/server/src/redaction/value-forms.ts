import type { SlicedWork } from "#kernel";
import { type Alphabet, DIGIT_ALPHABET, TEXT_ALPHABET } from "./alphabets.ts";
import { digitEncodings, type EncodedValue, textEncodings } from "./encodings.ts";
import type { WorkBudget } from "./work-budget.ts";

/** An encoded value in the codes of an alphabet. */
export interface Needle {
  readonly codes: Uint8Array;
  /** The length of the encoded value. */
  readonly bytes: number;
  /** How many base64 digits before it and after it also hold bits of the value. */
  readonly digitsBefore: number;
  readonly digitsAfter: number;
}

/** All forms in which a value is looked for. */
export interface ValueForms {
  readonly text: readonly Needle[];
  readonly digits: readonly Needle[];
  /** The steps of the budget that they take, even if they were made before. So what is found does not depend on that. */
  readonly steps: number;
  /** Memory of the codes of all needles. */
  readonly codeBytes: number;
}

/** Forms that were made before, of one workspace. */
export interface KnownForms {
  get(value: string): ValueForms | undefined;
  set(value: string, forms: ValueForms): void;
}

/** The cost of making one encoding of a value, in addition to its characters. */
const STEPS_PER_ENCODING = 500;
const STEPS_PER_CHARACTER = 4;
/** An encoded value costs making and normalizing, per character. */
const STEPS_PER_ENCODED_CHARACTER = 2;
/** The codes of encoded values share blocks of memory: thousands of arrays of their own make garbage collections. */
const MIN_BLOCK_BYTES = 4 * 1024;
const MAX_BLOCK_BYTES = 64 * 1024;

/** Makes the forms of a value. Null: the budget is exhausted. */
export function* makeForms(value: string, budget: WorkBudget): SlicedWork<ValueForms | null> {
  const blocks = new CodeBlocks();
  let steps = 0;
  const needlesOf = function* (alphabet: Alphabet, encodings: Iterable<EncodedValue | null>): SlicedWork<Needle[] | null> {
    const needles: Needle[] = [];
    for (const encoded of encodings) {
      budget.countToPause(STEPS_PER_ENCODING + STEPS_PER_CHARACTER * value.length);
      if (encoded) {
        const { bytes, digitsBefore, digitsAfter } = encoded;
        budget.spend(STEPS_PER_ENCODED_CHARACTER * bytes.length);
        if (budget.isExhausted) return null;
        steps += STEPS_PER_ENCODED_CHARACTER * bytes.length;
        needles.push({ codes: blocks.codesOf(bytes, alphabet), bytes: bytes.length, digitsBefore, digitsAfter });
      }
      yield* budget.pause();
    }
    return needles;
  };
  const text = yield* needlesOf(TEXT_ALPHABET, textEncodings(value));
  const digits = text && (yield* needlesOf(DIGIT_ALPHABET, digitEncodings(value)));
  return digits && { text, digits, steps, codeBytes: blocks.bytes };
}

class CodeBlocks {
  /** The size of all blocks. */
  bytes = 0;
  #block = new Uint8Array(0);
  #used = 0;
  /** The first block is small, since most values are short; each next one is twice as large. */
  #nextBytes = MIN_BLOCK_BYTES;

  codesOf(bytes: string, alphabet: Alphabet): Uint8Array {
    if (this.#block.length - this.#used < bytes.length) {
      this.#block = new Uint8Array(Math.max(this.#nextBytes, bytes.length));
      this.#used = 0;
      this.bytes += this.#block.length;
      this.#nextBytes = Math.min(2 * this.#nextBytes, MAX_BLOCK_BYTES);
    }
    const from = this.#used;
    for (let at = 0; at < bytes.length; at += 1) {
      const code = alphabet[bytes.charCodeAt(at)] as number;
      if (code >= 0) this.#block[this.#used++] = code;
    }
    return this.#block.subarray(from, this.#used);
  }
}

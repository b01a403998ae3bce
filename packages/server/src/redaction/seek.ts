import type { Form } from "./encodings.ts";
import type { Reading } from "./readings.ts";
import type { Steps } from "./steps.ts";

type OnFind = (start: number, end: number, name: string) => void;

/** What each byte counts as; less than 0 when it is passed over. */
type Alphabet = Int16Array;

/** A character of a form is made and folded, too. */
const FORM_STEPS = 2;
/** A find is worked on more than a character is. */
const FIND_STEPS = 100;
/** How much of a form's beginning says whether it may stand somewhere. */
const BEGINNING = 4;
const PASSED_OVER = -1;

const alphabetOf = (meaning: (character: string) => string): Alphabet =>
  Int16Array.from({ length: 256 }, (_, byte) => {
    const code = meaning(String.fromCharCode(byte)).charCodeAt(0);
    return Number.isNaN(code) ? PASSED_OVER : code;
  });

const lower = (character: string): string => (/[A-Z]/.test(character) ? character.toLowerCase() : character);
/** Upper and lower case are one. */
export const LETTERS: Alphabet = alphabetOf(lower);
/** Base64 and base64url are one, too; line breaks, the commas of a list and the colons of a fingerprint are nothing. */
export const DIGITS: Alphabet = alphabetOf((character) =>
  /[\t\n\r :,]/.test(character) ? "" : ({ "-": "+", _: "/" }[character] ?? lower(character)),
);
const IS_PACKED = Uint8Array.from({ length: 256 }, (_, byte) => Number(/[a-z\d+/]/.test(String.fromCharCode(byte))));
const PADDING = "=".charCodeAt(0);

/** Bytes as an alphabet has them, and where each stands. */
interface Folded {
  readonly codes: Uint8Array;
  readonly places: Int32Array;
}

function fold(bytes: string, alphabet: Alphabet): Folded {
  const codes = new Uint8Array(bytes.length);
  const places = new Int32Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = alphabet[bytes.charCodeAt(at)] as number;
    if (code < 0) continue;
    codes[length] = code;
    places[length] = at;
    length += 1;
  }
  return { codes: codes.subarray(0, length), places };
}

interface Sought {
  readonly form: Form;
  readonly codes: Uint8Array;
}

const slotOf = (beginning: number): number => Math.imul(beginning, 0x9e3779b1) >>> 16;

/** Looks for many forms at once. */
export class Seeker {
  readonly #alphabet: Alphabet;
  readonly #byBeginning = new Map<number, Sought[]>();
  /** Which beginnings there may be: most places of a text are ruled out by it alone. */
  readonly #slots = new Uint8Array(2 ** 16);
  /** Those that are shorter than a beginning, by their first code. */
  readonly #short = new Map<number, Sought[]>();
  readonly #shortCodes = new Uint8Array(256);

  /** Takes up forms until the steps are spent. */
  constructor(alphabet: Alphabet, forms: Iterable<Form>, steps: Steps) {
    this.#alphabet = alphabet;
    for (const form of forms) {
      steps.take(FORM_STEPS * form.bytes.length);
      if (steps.areSpent) break;
      this.#add({ form, codes: fold(form.bytes, alphabet).codes });
    }
  }

  #add(sought: Sought): void {
    const { codes } = sought;
    const isShort = codes.length < BEGINNING;
    const beginning = codes.subarray(0, isShort ? 1 : BEGINNING).reduce((key, code) => (key << 8) | code, 0);
    const all = isShort ? this.#short : this.#byBeginning;
    if (isShort) this.#shortCodes[beginning] = 1;
    else this.#slots[slotOf(beginning)] = 1;
    const others = all.get(beginning);
    if (others) others.push(sought);
    else all.set(beginning, [sought]);
  }

  /** Tells each place where one stands, also where they overlap, until the steps are spent. */
  seek(reading: Reading, steps: Steps, onFind: OnFind): void {
    const text = fold(reading.bytes, this.#alphabet);
    const { codes } = text;
    steps.take(reading.bytes.length + codes.length);
    const check = (sought: readonly Sought[] | undefined, at: number): void => {
      for (const one of sought ?? []) if (stands(one.codes, codes, at, steps)) onFind(...placeOf(one, text, at, reading), one.form.name);
    };
    let beginning = 0;
    for (let at = 0; at < codes.length && !steps.areSpent; at += 1) {
      const code = codes[at] as number;
      beginning = (beginning << 8) | code;
      if (this.#shortCodes[code] === 1) check(this.#short.get(code), at);
      if (at + 1 >= BEGINNING && this.#slots[slotOf(beginning)] === 1) check(this.#byBeginning.get(beginning), at + 1 - BEGINNING);
    }
  }
}

function stands(sought: Uint8Array, codes: Uint8Array, at: number, steps: Steps): boolean {
  if (at + sought.length > codes.length) return false;
  let same = 0;
  while (same < sought.length && sought[same] === codes[at + same]) same += 1;
  const found = same === sought.length;
  steps.take(1 + same + (found ? FIND_STEPS : 0));
  return found;
}

/** With the digits around it that hold some of the value's bits, and the padding. */
function placeOf({ form, codes: sought }: Sought, { codes, places }: Folded, at: number, reading: Reading): readonly [number, number] {
  let start = at;
  let end = at + sought.length;
  while (at - start < form.before && IS_PACKED[codes[start - 1] ?? 0] === 1) start -= 1;
  for (let after = 0; after < form.after && IS_PACKED[codes[end] ?? 0] === 1; after += 1) end += 1;
  if (form.after > 0) while (codes[end] === PADDING) end += 1;
  return reading.place(places[start] as number, (places[end - 1] as number) + 1);
}

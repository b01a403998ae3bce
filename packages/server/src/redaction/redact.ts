import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import { decodings } from "./decode.ts";
import { EmbeddedTexts } from "./embedded-texts.ts";
import { digitEncodings, type EncodedValue, isShort, MAX_NUMBER_LENGTH, textEncodings } from "./encodings.ts";
import { bytesOf } from "./escapes.ts";
import { type Alphabet, DIGIT_ALPHABET, TEXT_ALPHABET, ValueFinder } from "./find-values.ts";
import { type Match, Matches } from "./matches.ts";
import { growthOf, replaceInJson, replaceMatches } from "./replace.ts";
import { WorkBudget } from "./work-budget.ts";

type NamedValue = readonly [value: string, secret: string];

/** The variants of a longer value take a while. Characters. */
const LONG_VALUE = 4_096;
/** Of making one encoding of a value. */
const STEPS_PER_ENCODING = 500;
const STEPS_PER_CHARACTER = 4;

interface Finders {
  /** How many values they find. */
  readonly values: number;
  /** Of short values, which are looked for only as they are. */
  readonly short: readonly ValueFinder[];
  /** Of all others. */
  readonly long: readonly ValueFinder[];
}

/** Takes secrets out of texts and JSON. */
export type TextRedactor = Pick<Redactor, "json" | "text">;

/**
 * Takes the values of secrets out of what is kept of an attempt. Each becomes `[secret:NAME]`, in upper or lower case and in any
 * encoding of `encodings.ts` and `escapes.ts`, also inside base64 or hexadecimal digits. What a handler computes from a value (a part, a hash, a ciphertext) is not found.
 * A text that takes too much work, or becomes too long with its marks, gives null. Source: contract §9.
 */
export class Redactor {
  /** Secrets by value and its variants: the first of those that have the same. */
  #secrets: ReadonlyMap<string, string> | undefined;
  /** Finders of the values that are not longer than the text. */
  #finders: Finders | undefined;

  readonly #values: ReadonlyMap<string, string>;

  /** @param secrets values by name */
  constructor(secrets: ReadonlyMap<string, string>) {
    this.#values = secrets;
  }

  /**
   * The text without the values. The text must be complete: the rest of a value that was cut off is not found.
   *
   * @param maxBytes how long it may become. More of it allows more work
   */
  *text(text: string, maxBytes: number = LIMITS.resultBytes): SlicedWork<string | null> {
    const bytes = bytesOf(text);
    const matches = yield* this.#find(bytes, "text", maxBytes);
    return matches?.length === 0 ? text : matches && textOf(replaceMatches(bytes, matches));
  }

  /**
   * The JSON text without the values in its strings, keys and numbers. It stays valid JSON, and unchanged when it holds no value.
   * When one value stands across several tokens, the result is a single string.
   *
   * @param text valid JSON
   * @param maxBytes how long it may become. More of it allows more work
   */
  *json(text: string, maxBytes: number = LIMITS.resultBytes): SlicedWork<string | null> {
    const bytes = bytesOf(text);
    const matches = yield* this.#find(bytes, "json", maxBytes);
    if (!matches || matches.length === 0) return matches && text;
    const redacted = replaceInJson(bytes, matches);
    return redacted === null ? JSON.stringify(textOf(replaceMatches(bytes, matches))) : textOf(redacted);
  }

  /** The matches in order; null when finding them is too much work, or the text would become too long. */
  *#find(bytes: string, kind: "text" | "json", maxBytes: number): SlicedWork<Match[] | null> {
    this.#secrets ??= yield* secretsByVariant(this.#values);
    // A value is no longer than the text that holds it. Only a number may be printed shorter.
    const values = [...this.#secrets].filter(([value]) => value.length <= Math.max(bytes.length, MAX_NUMBER_LENGTH));
    if (values.length === 0 || bytes === "") return [];
    const budget = new WorkBudget(Math.max(1, maxBytes / LIMITS.resultBytes));
    const { short, long } = yield* this.#findersOf(values, budget);
    if (budget.isExhausted) return null;
    const matches = new Matches(bytes.length);
    const embedded = new EmbeddedTexts(long);
    for (const decoded of decodings(bytes, kind, budget)) {
      for (const finder of [...short, ...long, embedded])
        yield* finder.find(decoded, budget, (start, end, secret) => matches.add(start, end, secret));
      if (budget.isExhausted) return null;
      yield* budget.pause();
    }
    const merged = matches.merged();
    return growthOf(merged) > Math.max(0, maxBytes - bytes.length) ? null : merged;
  }

  /** Kept for all responses to attempts that resolved the same secrets. */
  *#findersOf(values: readonly NamedValue[], budget: WorkBudget): SlicedWork<Finders> {
    if (this.#finders?.values === values.length) return this.#finders;
    const short = values.filter(([value]) => isShort(value));
    const long = values.filter(([value]) => !isShort(value));
    const finderOf = function* (alphabet: Alphabet, of: readonly NamedValue[], encode: Encode): SlicedWork<ValueFinder[]> {
      return of.length === 0 ? [] : [yield* ValueFinder.of(alphabet, encodeAll(of, encode, budget), budget)];
    };
    const finders = {
      values: values.length,
      short: yield* finderOf(TEXT_ALPHABET, short, textEncodings),
      long: [...(yield* finderOf(TEXT_ALPHABET, long, textEncodings)), ...(yield* finderOf(DIGIT_ALPHABET, long, digitEncodings))],
    };
    if (!budget.isExhausted) this.#finders = finders;
    return finders;
  }
}

function* secretsByVariant(values: ReadonlyMap<string, string>): SlicedWork<ReadonlyMap<string, string>> {
  const secrets = new Map<string, string>();
  for (const [secret, value] of values) {
    for (const variant of variantsOf(value)) if (!secrets.has(variant)) secrets.set(variant, secret);
    if (value.length > LONG_VALUE) yield;
  }
  return secrets;
}

/** The value, also trimmed, and with other line endings or none. */
function variantsOf(value: string): Set<string> {
  const unix = value.replace(/\r\n?/g, "\n");
  const variants = [
    value,
    value.trim(),
    unix,
    unix.trim(),
    ...[unix, unix.trim()].map((text) => text.replaceAll("\n", "\r\n")),
    unix.replaceAll("\n", ""),
  ];
  return new Set(variants.filter((variant) => variant !== ""));
}

type Encode = (secret: string, value: string) => Iterable<EncodedValue | null>;

function* encodeAll(values: Iterable<NamedValue>, encode: Encode, budget: WorkBudget): Iterable<EncodedValue | null> {
  for (const [value, secret] of values) {
    for (const encoded of encode(secret, value)) {
      budget.countToPause(STEPS_PER_ENCODING + STEPS_PER_CHARACTER * value.length);
      yield encoded;
    }
  }
}

const textOf = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");

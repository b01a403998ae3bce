import { LIMITS } from "@tidemill/contract";
import type { SlicedWork } from "#kernel";
import { DIGIT_ALPHABET, TEXT_ALPHABET } from "./alphabets.ts";
import { decodings } from "./decode.ts";
import { EmbeddedTexts } from "./embedded-texts.ts";
import { isShort, MAX_NUMBER_LENGTH } from "./encodings.ts";
import { bytesOf } from "./escapes.ts";
import { ValueFinder } from "./find-values.ts";
import { type Match, Matches } from "./matches.ts";
import { growthOf, replaceInJson, replaceMatches } from "./replace.ts";
import { type KnownForms, makeForms, type ValueForms } from "./value-forms.ts";
import { WorkBudget } from "./work-budget.ts";

type NamedValue = readonly [value: string, secret: string];
type SecretValue = readonly [secret: string, value: string];

/** The variants of a longer value take a while. Characters. */
const LONG_VALUE = 4_096;
/** The cost of adding a form of a value to a finder. */
const STEPS_PER_NEEDLE = 20;

interface Finders {
  /** The number of values that they find. */
  readonly values: number;
  /** Finders of short values, which are looked for only in their plain form. */
  readonly short: readonly ValueFinder[];
  /** Finders of all other values. */
  readonly long: readonly ValueFinder[];
}

/** Removes secrets from texts and JSON. */
export type TextRedactor = Pick<Redactor, "json" | "text">;

/**
 * Removes the values of secrets from what is kept of an attempt. Each value becomes `[secret:NAME]`: in upper or lower case, in any
 * encoding of `encodings.ts` and `escapes.ts`, and even inside base64 or hexadecimal digits. What a handler computes from a value (a part,
 * a hash, a ciphertext) is not found. For a text that takes too much work, or becomes too long with its marks, the result is null. Source:
 * contract §9.
 */
export class Redactor {
  /** Secrets by value and its variants. If several secrets have the same value, the first one counts. */
  #secrets: ReadonlyMap<string, string> | undefined;
  /** Finders of the values that are not longer than the text. */
  #finders: Finders | undefined;

  readonly #values: Iterable<SecretValue>;
  readonly #known: KnownForms | undefined;

  /**
   * @param secrets names and values. A name may have several values
   * @param known keeps forms of the values for other redactors
   */
  constructor(secrets: Iterable<SecretValue>, known?: KnownForms) {
    this.#values = secrets;
    this.#known = known;
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
    const finders = yield* this.#findersOf(values, budget);
    if (!finders) return null;
    const { short, long } = finders;
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

  /** Kept for all responses to attempts that resolved the same secrets. Null: the budget is exhausted. */
  *#findersOf(values: readonly NamedValue[], budget: WorkBudget): SlicedWork<Finders | null> {
    if (this.#finders?.values === values.length) return this.#finders;
    const hasShort = values.some(([value]) => isShort(value));
    const hasLong = values.some(([value]) => !isShort(value));
    const short = hasShort ? [new ValueFinder(TEXT_ALPHABET)] : [];
    const long = hasLong ? [new ValueFinder(TEXT_ALPHABET), new ValueFinder(DIGIT_ALPHABET)] : [];
    for (const [value, secret] of values) {
      const forms = yield* this.#formsOf(value, budget);
      if (!forms) return null;
      const [text, digits] = isShort(value) ? short : long;
      for (const needle of forms.text) text?.add(needle, secret);
      for (const needle of forms.digits) digits?.add(needle, secret);
      budget.countToPause(STEPS_PER_NEEDLE * (forms.text.length + forms.digits.length));
      yield* budget.pause();
    }
    this.#finders = { values: values.length, short, long };
    return this.#finders;
  }

  /** Null: the budget is exhausted. */
  *#formsOf(value: string, budget: WorkBudget): SlicedWork<ValueForms | null> {
    const known = this.#known?.get(value);
    if (known) {
      budget.spend(known.steps);
      return budget.isExhausted ? null : known;
    }
    const made = yield* makeForms(value, budget);
    if (made) this.#known?.set(value, made);
    return made;
  }
}

function* secretsByVariant(values: Iterable<SecretValue>): SlicedWork<ReadonlyMap<string, string>> {
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

const textOf = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");

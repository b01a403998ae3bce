import { UNDO_PREFIX } from "@tidemill/contract/journal";
import { LIMITS } from "@tidemill/contract/limits";
import { givenText } from "../given-text.ts";
import { NonRetryableError } from "../worker/errors.ts";
import { DuplicateStepError } from "./errors.ts";
import { isStorable } from "./storable.ts";

/** The key of a later use is a little longer. */
const MAX_LENGTH = LIMITS.stepKeyLength - 8;

/** Gives each use of a step its key in the journal: `name`, or `name[key]`; when it is used again, `name:2` and so on. */
export class StepKeys {
  readonly #uses = new Map<string, number>();
  readonly #open = new Set<string>();
  readonly #given = new Set<string>();

  /**
   * Begins a use, which `close` ends.
   *
   * @throws {DuplicateStepError} if another use of the same name and key has not ended
   */
  open(base: string): string {
    if (this.#open.has(base)) throw new DuplicateStepError(base);
    const key = this.next(base);
    this.#open.add(base);
    return key;
  }

  /** Whether a use has not ended. */
  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  close(base: string): void {
    this.#open.delete(base);
  }

  /** The key of another use. */
  next(base: string): string {
    for (let use = (this.#uses.get(base) ?? 0) + 1; ; use += 1) {
      const key = use === 1 ? base : `${base}:${use}`;
      if (this.#given.has(key)) continue;
      this.#uses.set(base, use);
      this.#given.add(key);
      return key;
    }
  }
}

/** @throws {NonRetryableError} for a name that a step cannot have */
export function stepBase(name: string, key: string | number | undefined): string {
  if (typeof name !== "string") throw new NonRetryableError(`A step's name must be a string, not ${givenText(name)}.`);
  if (key !== undefined && typeof key !== "string" && typeof key !== "number") {
    const given = key === null ? "null" : typeof key;
    throw new NonRetryableError(`The key of step ${JSON.stringify(name)} must be a string or a number, not ${given}.`);
  }
  const base = key === undefined ? name : `${name}[${key}]`;
  if (base.startsWith(UNDO_PREFIX))
    throw new NonRetryableError(`The name of a step must not begin with "${UNDO_PREFIX}": ${JSON.stringify(base)}.`);
  if (name !== "" && base.length <= MAX_LENGTH && isStorable(base)) return base;
  const rule = `a string of 1 to ${MAX_LENGTH} characters without NUL or lone surrogates`;
  throw new NonRetryableError(`A step's name, including its key, must be ${rule}, not ${JSON.stringify(base)}.`);
}

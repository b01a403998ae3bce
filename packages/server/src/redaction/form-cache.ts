import { SharedCache, type WorkspaceId } from "#kernel";
import { type KnownForms, MIN_BLOCK_BYTES, type ValueForms } from "./value-forms.ts";

/** Forms of values that a node has looked for, of all workspaces. Bytes. */
const CAPACITY = 16 * 1024 * 1024;
/** Of a needle besides its codes. Bytes. */
const NEEDLE_BYTES = 200;
/** Forms of longer values are not kept. Characters. */
const MAX_KEPT_VALUE = 4_096;
/** How often those are forgotten that were not used since the time before. Milliseconds. */
const FORGET_EVERY_MS = 300_000;

/** Keeps the forms of values that attempts use again and again. To make them takes longer than to look for them in a response. */
export class FormCache {
  readonly #capacity: number;
  /** Forms that were used since unused ones were forgotten, and those of the time before. */
  #used: SharedCache<string, ValueForms>;
  #before: SharedCache<string, ValueForms>;

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity / 2;
    this.#used = new SharedCache(this.#capacity);
    this.#before = new SharedCache(this.#capacity);
    setInterval(() => this.forgetUnused(), FORGET_EVERY_MS).unref();
  }

  /** Forgets the forms that were not used since the last call. */
  forgetUnused(): void {
    this.#before = this.#used;
    this.#used = new SharedCache(this.#capacity);
  }

  /** No workspace can tell from the time that it takes whether another one has the same value. */
  of(workspaceId: WorkspaceId): KnownForms {
    const keyOf = (value: string) => `${workspaceId} ${value}`;
    const set = (value: string, forms: ValueForms) => {
      if (value.length <= MAX_KEPT_VALUE) this.#used.set(workspaceId, keyOf(value), forms, bytesOf(forms));
    };
    return {
      get: (value) => {
        const used = this.#used.get(keyOf(value));
        if (used) return used;
        const before = this.#before.get(keyOf(value));
        if (before) set(value, before);
        return before;
      },
      set,
    };
  }
}

const bytesOf = ({ text, digits }: ValueForms): number =>
  [...text, ...digits].reduce((sum, { codes }) => sum + codes.length + NEEDLE_BYTES, MIN_BLOCK_BYTES);

import { SharedCache, type WorkspaceId } from "#kernel";
import type { KnownForms, ValueForms } from "./value-forms.ts";

/** The maximum size of the forms of values that a node keeps for all workspaces. Bytes. */
const CAPACITY_BYTES = 16 * 1024 * 1024;
/** The size of a needle without its codes. */
const NEEDLE_BYTES = 200;
/** Forms of longer values are not kept. */
const MAX_VALUE_CHARACTERS = 4_096;

interface KeptForms {
  readonly forms: ValueForms;
  usedIn: number;
}

/** Keeps the forms of values that attempts use again and again. To make them takes longer than to look for them in a response. */
export class FormCache {
  readonly #kept: SharedCache<string, KeptForms>;
  /** How often unused forms were forgotten. */
  #period = 0;

  constructor(capacity = CAPACITY_BYTES) {
    this.#kept = new SharedCache(capacity);
  }

  /** Forgets the forms that were not used since the last call. */
  forgetUnused(): void {
    this.#kept.deleteIf(({ usedIn }) => usedIn < this.#period);
    this.#period += 1;
  }

  /** No workspace can tell from the time that it takes whether another one has the same value. */
  of(workspaceId: WorkspaceId): KnownForms {
    const keyOf = (value: string) => `${workspaceId} ${value}`;
    return {
      get: (value) => {
        const kept = this.#kept.get(keyOf(value));
        if (kept) kept.usedIn = this.#period;
        return kept?.forms;
      },
      set: (value, forms) => {
        if (value.length > MAX_VALUE_CHARACTERS) return;
        this.#kept.set(workspaceId, keyOf(value), { forms, usedIn: this.#period }, bytesOf(forms) + 2 * value.length);
      },
    };
  }
}

const bytesOf = ({ text, digits, codeBytes }: ValueForms): number => codeBytes + (text.length + digits.length) * NEEDLE_BYTES;

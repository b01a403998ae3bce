import type { RecordKind } from "@tidemill/contract";
import type { Clock } from "#kernel";

/** How long the first change after a quiet time waits for others. Milliseconds. */
const GATHER_MS = 50;

export interface PacedKindsOptions {
  /** The time between two calls of `onDue`. Milliseconds. */
  readonly everyMs: number;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly onDue: (kinds: readonly RecordKind[]) => void;
}

/** Gathers kinds of records that have changed, and passes them on, at most once in a while. */
export class PacedKinds {
  readonly #options: PacedKindsOptions;
  readonly #pending = new Set<RecordKind>();
  #passedOnMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PacedKindsOptions) {
    this.#options = options;
  }

  add(kinds: readonly RecordKind[]): void {
    for (const kind of kinds) this.#pending.add(kind);
    if (this.#timer || this.#pending.size === 0) return;
    const { everyMs, clock } = this.#options;
    const waitMs = Math.max(GATHER_MS, this.#passedOnMs + everyMs - clock.elapsedMs());
    this.#timer = setTimeout(() => this.#passOn(), waitMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#pending.clear();
  }

  #passOn(): void {
    this.#timer = undefined;
    this.#passedOnMs = this.#options.clock.elapsedMs();
    const kinds = [...this.#pending];
    this.#pending.clear();
    this.#options.onDue(kinds);
  }
}

import type { ReportedStep } from "@tidemill/contract";

/** Steps in one call. */
const MAX_STEPS = 100;
/** Characters of outputs in one call, if it has more than one. */
const MAX_CHARACTERS = 500_000;

interface Item {
  readonly step: ReportedStep;
  /** Whether the program may see it before it is stored. */
  readonly early: boolean;
  readonly characters: number;
}

/** Outcomes on their way to the journal. They reach it, and the program, in the order in which they were added. */
export class Outbox {
  readonly #store: (steps: readonly ReportedStep[]) => Promise<void>;
  readonly #release: (step: ReportedStep) => void;
  #items: Item[] = [];
  /** How many of the first items the program may see already. */
  #released = 0;
  /** How many of the first items are being stored. */
  #sending = 0;
  #call: Promise<void> = Promise.resolve();

  /** @param release called with each outcome that the program may see */
  constructor(store: (steps: readonly ReportedStep[]) => Promise<void>, release: (step: ReportedStep) => void) {
    this.#store = store;
    this.#release = release;
  }

  /** Adds an outcome. The program sees it when it is stored; an `early` one as soon as those before it. */
  add(step: ReportedStep, { early }: { readonly early: boolean }): void {
    const characters = early || step.output === undefined ? 0 : JSON.stringify(step.output).length;
    this.#items.push({ step, early, characters });
    this.#releaseEarly();
  }

  /** Takes back an outcome that is not being stored. */
  remove(key: string): void {
    const at = this.#items.findIndex(({ step }) => step.key === key);
    if (at < this.#sending) return;
    this.#items.splice(at, 1);
    if (at < this.#released) this.#released -= 1;
    this.#releaseEarly();
  }

  /** Whether the program has seen outcomes that are not stored. */
  get hasSeen(): boolean {
    return this.#released > 0;
  }

  /** Whether the program waits for outcomes to be stored. */
  get hasHeld(): boolean {
    return this.#items.length > this.#released;
  }

  /** Outcomes that are neither stored nor being stored. */
  get unsent(): ReportedStep[] {
    return this.#items.slice(this.#sending).map(({ step }) => step);
  }

  /** Stores what there is. One call at a time: so the journal has the order of this list. */
  async send(): Promise<void> {
    if (this.#sending > 0 || this.#items.length === 0) return;
    this.#sending = this.#batchSize();
    try {
      this.#call = this.#store(this.#items.slice(0, this.#sending).map(({ step }) => step));
      await this.#call;
    } catch (error) {
      this.#sending = 0;
      throw error;
    }
    const stored = this.#items.splice(0, this.#sending);
    const seen = Math.min(this.#released, stored.length);
    this.#sending = 0;
    this.#released -= seen;
    for (const { step } of stored.slice(seen)) this.#release(step);
    this.#releaseEarly();
  }

  /** Resolves when the call under way has ended, if there is one. */
  async sent(): Promise<void> {
    await this.#call.catch(() => {});
  }

  /** Stores all that is final, when no call is under way. What is early is forgotten: no step has begun since the program saw it. */
  async sendFinal(): Promise<void> {
    this.#items = this.#items.filter(({ early }) => !early);
    this.#released = 0;
    while (this.#items.length > 0) await this.send();
  }

  #batchSize(): number {
    let characters = 0;
    const end = this.#items.slice(0, MAX_STEPS).findIndex((item, index) => {
      characters += item.characters;
      return index > 0 && characters > MAX_CHARACTERS;
    });
    return end === -1 ? Math.min(MAX_STEPS, this.#items.length) : end;
  }

  #releaseEarly(): void {
    for (let next = this.#items[this.#released]; next?.early; next = this.#items[this.#released]) {
      this.#released += 1;
      this.#release(next.step);
    }
  }
}

import type { ReportedStep } from "@tidemill/contract";

/** Steps in one call. */
const MAX_STEPS = 100;
/** Characters of outputs in one call, if it has more than one. */
const MAX_CHARACTERS = 500_000;

/** A step that a call of its own stores, and what it led to. A step that is not stored failed, and is as other failures. */
type StepCall = () => Promise<{ readonly step: ReportedStep; readonly isStored: boolean }>;

interface Item {
  readonly key: string;
  /** The outcome, or the call that brings it. */
  readonly what: ReportedStep | StepCall;
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
  #call: Promise<unknown> = Promise.resolve();

  /** @param release called with each outcome that the program may see */
  constructor(store: (steps: readonly ReportedStep[]) => Promise<void>, release: (step: ReportedStep) => void) {
    this.#store = store;
    this.#release = release;
  }

  /** Adds an outcome. The program sees it when it is stored; an `early` one as soon as those before it. */
  add(step: ReportedStep, { early }: { readonly early: boolean }): void {
    const characters = early || step.output === undefined ? 0 : JSON.stringify(step.output).length;
    this.#items.push({ key: step.key, what: step, early, characters });
    this.#releaseEarly();
  }

  /** Adds a step that a call of its own stores when those before it are stored. */
  addCall(key: string, call: StepCall): void {
    this.#items.push({ key, what: call, early: false, characters: 0 });
  }

  /** Takes back an outcome that is not being stored. */
  remove(key: string): void {
    const at = this.#items.findIndex((item) => item.key === key);
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
    return stepsOf(this.#items.slice(this.#sending));
  }

  /** Stores what there is. One call at a time: so the journal has the order of this list. */
  async send(): Promise<void> {
    if (this.#sending > 0 || this.#items.length === 0) return;
    const what = this.#items[0]?.what;
    try {
      await (typeof what === "function" ? this.#sendCall(what) : this.#sendBatch());
    } finally {
      this.#sending = 0;
    }
    this.#releaseEarly();
  }

  async #sendBatch(): Promise<void> {
    this.#sending = this.#batchSize();
    this.#call = this.#store(stepsOf(this.#items.slice(0, this.#sending)));
    await this.#call;
    const stored = stepsOf(this.#items.splice(0, this.#sending));
    const seen = Math.min(this.#released, stored.length);
    this.#released -= seen;
    for (const step of stored.slice(seen)) this.#release(step);
  }

  async #sendCall(call: StepCall): Promise<void> {
    this.#sending = 1;
    const called = call();
    this.#call = called;
    const { step, isStored } = await called;
    const failed = isStored ? [] : [{ key: step.key, what: step, early: true, characters: 0 }];
    this.#items.splice(0, 1, ...failed);
    if (isStored) this.#release(step);
  }

  /** Resolves when the call under way has ended, if there is one. */
  async sent(): Promise<void> {
    await this.#call.catch(() => {});
  }

  /**
   * Stores all outcomes that are final, when no call is under way. What is early is forgotten: no step has begun since the program saw it.
   */
  async sendFinal(): Promise<void> {
    this.#items = this.#items.filter(({ early, what }) => !early && typeof what !== "function");
    this.#released = 0;
    while (this.#items.length > 0) await this.send();
  }

  #batchSize(): number {
    let characters = 0;
    const end = this.#items.slice(0, MAX_STEPS).findIndex((item, index) => {
      characters += item.characters;
      return index > 0 && (characters > MAX_CHARACTERS || typeof item.what === "function");
    });
    return end === -1 ? Math.min(MAX_STEPS, this.#items.length) : end;
  }

  #releaseEarly(): void {
    for (let next = this.#items[this.#released]; next?.early; next = this.#items[this.#released]) {
      this.#released += 1;
      for (const step of stepsOf([next])) this.#release(step);
    }
  }
}

const stepsOf = (items: readonly Item[]): ReportedStep[] => items.flatMap(({ what }) => (typeof what === "function" ? [] : [what]));

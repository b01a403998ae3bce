import type { ReportedStep } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { countValues } from "./fits-in-body.ts";
import { hasReturned } from "./not-stored.ts";

/** Characters of outputs in one call, if it has more than one step. */
const MAX_CHARACTERS = 500_000;
/** Values in bodies of `step.http`, in one call that has more than one of them. One has at most as many. */
export const MAX_BODY_VALUES = 10_000;

/** A call that stores its own step. It returns the step. If `isStored` is false, the step failed and is handled like any other failure. */
type StepCall = () => Promise<{ readonly step: ReportedStep; readonly isStored: boolean }>;

interface Item {
  readonly key: string;
  /** The outcome, or the call that produces it. */
  readonly what: ReportedStep | StepCall;
  /** A failure that counts only if the program goes on after it: otherwise the run's next attempt executes the step again. */
  readonly isProvisional: boolean;
}

const isValue = ({ what }: Item): boolean => typeof what !== "function" && what.type === "value";

const isFinal = (item: Item): boolean => typeof item.what !== "function" && !isValue(item) && !item.isProvisional;

const isCancel = ({ what }: Item): boolean => typeof what !== "function" && what.status === "cancelled";

/** The step must be undone if the run fails, even if nobody waits for it any more. */
const isUndoable = (item: Item | undefined): boolean =>
  item !== undefined && typeof item.what !== "function" && item.what.undoable === true;

/**
 * Outcomes on their way to the journal. They reach it, and the program, in the order in which they were added. The program sees them before
 * they are stored, but no step begins until everything that it has seen is stored (I8). So the outcomes that it sees last are stored with
 * its end.
 */
export class Outbox {
  readonly #store: (steps: readonly ReportedStep[]) => Promise<void>;
  readonly #release: (step: ReportedStep) => void;
  #items: Item[] = [];
  /** How many of the first items the program may already see: the items before the first call. */
  #released = 0;
  /** How many of the first items are being stored. */
  #sending = 0;
  #sent: Promise<unknown> = Promise.resolve();
  #hasStored = false;

  /** @param release called with each outcome that the program may see */
  constructor(store: (steps: readonly ReportedStep[]) => Promise<void>, release: (step: ReportedStep) => void) {
    this.#store = store;
    this.#release = release;
  }

  add(step: ReportedStep, { isProvisional = false }: { readonly isProvisional?: boolean } = {}): void {
    this.#items.push({ key: step.key, what: step, isProvisional });
    this.#releaseNext();
  }

  /** Adds a step that is stored by its own call, after everything before it is stored. */
  addCall(key: string, call: StepCall): void {
    this.#items.push({ key, what: call, isProvisional: false });
  }

  /** Removes an outcome that is not being stored yet and need not be undone. Returns whether there was one. */
  remove(key: string): boolean {
    const at = this.#items.findIndex((item) => item.key === key);
    if (at < this.#sending || isUndoable(this.#items[at])) return false;
    this.#items.splice(at, 1);
    if (at < this.#released) this.#released -= 1;
    this.#releaseNext();
    return true;
  }

  /** Whether the program has seen outcomes or values that are not stored. It sees a value immediately. */
  get hasSeen(): boolean {
    return this.#released > 0 || this.#items.some(isValue);
  }

  /** Whether a call is under way that stores steps. */
  get isSending(): boolean {
    return this.#sending > 0;
  }

  /** Whether a call has stored steps. */
  get hasStored(): boolean {
    return this.#hasStored;
  }

  /** Whether the program waits for a call. */
  get hasCalls(): boolean {
    return this.#items.some(({ what }) => typeof what === "function");
  }

  /** Whether there is an outcome that must not be lost. */
  get hasFinal(): boolean {
    return keptOf(this.#items).some(isFinal);
  }

  /** Outcomes that are neither stored nor being stored. */
  get unsent(): ReportedStep[] {
    return stepsOf(this.#items.slice(this.#sending));
  }

  /** The unsent outcomes that count even if the execution fails or is given up. */
  get kept(): ReportedStep[] {
    return stepsOf(keptOf(this.#items.slice(this.#sending)));
  }

  /** Keys of the steps whose failures do not count if the execution ends now. */
  get provisional(): ReadonlySet<string> {
    return new Set(this.#items.flatMap(({ key, isProvisional }) => (isProvisional ? [key] : [])));
  }

  /**
   * Stores waiting outcomes, with one call at a time, so that the journal has the order of this list. If the call fails, its outcomes are
   * dropped, and so is everything after them except the results of completed steps. Returns whether anything was stored. While another call
   * is under way, nothing is.
   */
  send(): Promise<boolean> {
    if (this.#sending > 0 || this.#items.length === 0) return Promise.resolve(false);
    const sent = this.#send();
    this.#sent = sent;
    return sent;
  }

  async #send(): Promise<true> {
    const what = this.#items[0]?.what;
    try {
      await (typeof what === "function" ? this.#sendCall(what) : this.#sendBatch());
    } catch (error) {
      this.#forgetSending();
      throw error;
    } finally {
      this.#sending = 0;
    }
    this.#releaseNext();
    return true;
  }

  /** Drops what could not be stored, and what the program may have done because of it. */
  #forgetSending(): void {
    const isKept = ({ what }: Item) => typeof what !== "function" && hasReturned(what);
    const isSeen = (_: Item, index: number) => index < this.#released - this.#sending;
    const rest = this.#items.slice(this.#sending);
    this.#released = rest.filter(isSeen).filter(isKept).length;
    this.#items = rest.filter(isKept);
  }

  async #sendBatch(): Promise<void> {
    this.#sending = this.#batchSize();
    await this.#store(stepsOf(this.#items.slice(0, this.#sending)));
    this.#hasStored = true;
    this.#items.splice(0, this.#sending);
    this.#released -= this.#sending;
  }

  async #sendCall(call: StepCall): Promise<void> {
    this.#sending = 1;
    const { step, isStored } = await call();
    this.#items.splice(0, 1, ...(isStored ? [] : [{ key: step.key, what: step, isProvisional: true }]));
    if (isStored) {
      this.#hasStored = true;
      this.#release(step);
    }
  }

  /** Resolves when the call under way has ended, if there is one, and who has sent it knows how. */
  async sent(): Promise<void> {
    await this.#sent.catch(() => {});
  }

  /** Stores all outcomes that count even if the execution is given up, once no call is under way. */
  async sendKept(): Promise<void> {
    const { kept } = this;
    const seen = new Set(this.#items.slice(0, this.#released).map(({ key }) => key));
    for (const step of kept) if (!seen.has(step.key)) this.#release(step);
    this.#items = kept.map((step) => ({ key: step.key, what: step, isProvisional: false }));
    this.#released = this.#items.length;
    while (this.#items.length > 0) if (!(await this.send())) await this.sent();
  }

  #batchSize(): number {
    const next = this.#items.slice(0, LIMITS.reportedSteps);
    const call = next.findIndex(({ what }) => typeof what === "function");
    return batchSize(stepsOf(call === -1 ? next : next.slice(0, call)));
  }

  #releaseNext(): void {
    for (let next = this.#items[this.#released]; next && typeof next.what !== "function"; next = this.#items[this.#released]) {
      this.#released += 1;
      this.#release(next.what);
    }
  }
}

/** How many of the first steps one call stores. */
export function batchSize(steps: readonly ReportedStep[]): number {
  let [characters, values] = [0, 0];
  const end = steps.slice(0, LIMITS.reportedSteps).findIndex((step, index) => {
    characters += charactersOf(step);
    values += bodyValuesOf(step);
    return index > 0 && (characters > MAX_CHARACTERS || values > MAX_BODY_VALUES);
  });
  return end === -1 ? Math.min(LIMITS.reportedSteps, steps.length) : end;
}

/** The length of a step as JSON: its output, its error, and the call that the service makes for it. */
export const charactersOf = ({ output, error, http }: ReportedStep): number =>
  lengthOf(output) + (error?.message.length ?? 0) + lengthOf(http);

/** The number of values in the body that the service sends for the step. The service limits it, because it reads them. */
export const bodyValuesOf = ({ http }: ReportedStep): number => (http?.body === undefined ? 0 : countValues(http.body));

const lengthOf = (value: unknown): number => (value === undefined ? 0 : JSON.stringify(value).length);

/** What came after a provisional failure may be different next time, even what lost a race to the failed step. */
function keptOf(items: readonly Item[]): readonly Item[] {
  const provisional = items.findIndex((item) => item.isProvisional);
  return items.filter((item, index) => provisional === -1 || index < provisional || (isFinal(item) && !isCancel(item)));
}

const stepsOf = (items: readonly Item[]): ReportedStep[] => items.flatMap(({ what }) => (typeof what === "function" ? [] : [what]));

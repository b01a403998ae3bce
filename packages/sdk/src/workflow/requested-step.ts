import type { StepType } from "@tidemill/contract";
import { type OpenStep, StepPromise } from "./step-promise.ts";

/** A step or value that a program has asked for. */
export interface StepRequest {
  readonly key: string;
  readonly type: StepType;
  /** The signal or event that the step concerns. */
  readonly about: string | undefined;
}

/** A step that the program has requested. */
export class RequestedStep {
  readonly type: StepType;
  readonly key: string;
  /** Name and key, without the number of the use. */
  readonly base: string;
  readonly #open: OpenStep<unknown>;
  #isAwaited = false;
  #hasEnded = false;

  /** @param onAwaited called when the program first waits for it */
  constructor(type: StepType, key: string, base: string, onAwaited: () => void) {
    this.type = type;
    this.key = key;
    this.base = base;
    this.#open = StepPromise.open(() => {
      if (this.#isAwaited) return;
      this.#isAwaited = true;
      onAwaited();
    });
  }

  get promise(): StepPromise<unknown> {
    return this.#open.promise;
  }

  /** Whether the program waits for it, or has done so. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** Whether the program has its outcome. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  resolve(value: unknown): void {
    this.#hasEnded = true;
    this.#open.resolve(value);
  }

  reject(error: unknown): void {
    this.#hasEnded = true;
    this.#open.reject(error);
  }
}

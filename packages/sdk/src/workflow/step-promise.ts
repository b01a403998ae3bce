import { StepCancelledError } from "./errors.ts";

const { then: nativeThen } = Promise.prototype;
const nothing = (): void => {};

export interface OpenStep<Value> {
  readonly promise: StepPromise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * What `step.run` and the like return. It knows when the program waits for it. Neither it nor what `then`, `catch` and `finally` make of it
 * is ever an unhandled rejection: a program may leave a step alone, or wait for it late.
 */
export class StepPromise<Value> extends Promise<Value> {
  #onAwaited: (() => void) | undefined;
  #steps: readonly object[] = [];
  /** What it was made of. */
  #sources: readonly unknown[] = [];
  #hasLost = false;

  /**
   * @param onAwaited called when the program waits for the step
   * @param sources of a race: what was given to it
   */
  static open<Value>(onAwaited: () => void, sources?: readonly unknown[]): OpenStep<Value> {
    const settle = {} as { resolve: (value: Value) => void; reject: (reason: unknown) => void };
    const promise = new StepPromise<Value>((resolve, reject) => Object.assign(settle, { resolve, reject }));
    markHandled(promise);
    promise.#onAwaited = onAwaited;
    promise.#steps = sources?.flatMap(StepPromise.stepsOf) ?? [promise];
    promise.#sources = sources ?? [];
    return { promise, ...settle };
  }

  /** Promises of the steps that a promise comes from, by `then`, `catch`, `finally` or a race. */
  static stepsOf(promise: unknown): readonly object[] {
    return promise instanceof StepPromise ? promise.#steps : [];
  }

  /**
   * What `then`, `catch` and `finally` have made, and races, lost a race: a `catch` between the steps that it comes from and itself is for
   * failures, and does not get that they are cancelled.
   */
  static lose(promise: unknown): void {
    if (!(promise instanceof StepPromise) || promise.#hasLost) return;
    promise.#hasLost = true;
    for (const source of promise.#sources) StepPromise.lose(source);
  }

  override catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Value | B> {
    const next: Promise<Value | B> = this.then(
      undefined,
      onRejected &&
        ((reason) => {
          if (reason instanceof StepCancelledError && next instanceof StepPromise && next.#hasLost) throw reason;
          return onRejected(reason);
        }),
    );
    return next;
  }

  // biome-ignore lint/suspicious/noThenProperty: this is how a promise learns that somebody waits for it.
  override then<A = Value, B = never>(
    onFulfilled?: ((value: Value) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#onAwaited?.();
    const next = nativeThen.call(this, onFulfilled as never, onRejected as never) as Promise<A | B>;
    markHandled(next);
    if (next instanceof StepPromise) {
      next.#steps = this.#steps;
      next.#sources = [this];
    }
    return next;
  }
}

const markHandled = (promise: Promise<unknown>): void => void nativeThen.call(promise, undefined, nothing);

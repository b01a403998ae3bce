const { then: nativeThen } = Promise.prototype;
const nothing = (): void => {};
/** Errors of steps that were cancelled because what is made of them lost a race. */
const lostRaces = new WeakSet<object>();

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

  /**
   * @param onAwaited called when the program waits for the step
   * @param steps promises of the steps that it comes from: its own unless given
   */
  static open<Value>(onAwaited: () => void, steps?: readonly object[]): OpenStep<Value> {
    const settle = {} as { resolve: (value: Value) => void; reject: (reason: unknown) => void };
    const promise = new StepPromise<Value>((resolve, reject) => Object.assign(settle, { resolve, reject }));
    markHandled(promise);
    promise.#onAwaited = onAwaited;
    promise.#steps = steps ?? [promise];
    return { promise, ...settle };
  }

  /** Promises of the steps that a promise comes from, by `then`, `catch`, `finally` or a race. */
  static stepsOf(promise: unknown): readonly object[] {
    return promise instanceof StepPromise ? promise.#steps : [];
  }

  /** From now on, an error is not for what `catch` has to do when a step fails. */
  static passCatch(error: object): void {
    lostRaces.add(error);
  }

  override catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Value | B> {
    return this.then(
      undefined,
      onRejected &&
        ((reason) => {
          if (typeof reason === "object" && reason !== null && lostRaces.has(reason)) throw reason;
          return onRejected(reason);
        }),
    );
  }

  // biome-ignore lint/suspicious/noThenProperty: this is how a promise learns that somebody waits for it.
  override then<A = Value, B = never>(
    onFulfilled?: ((value: Value) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#onAwaited?.();
    const next = nativeThen.call(this, onFulfilled as never, onRejected as never) as Promise<A | B>;
    markHandled(next);
    if (next instanceof StepPromise) next.#steps = this.#steps;
    return next;
  }
}

const markHandled = (promise: Promise<unknown>): void => void nativeThen.call(promise, undefined, nothing);

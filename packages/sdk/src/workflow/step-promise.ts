import { StepCancelledError } from "./errors.ts";

const { then: nativeThen } = Promise.prototype;
const nothing = (): void => {};

export interface OpenStep<Value> {
  readonly promise: StepPromise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The promise that `step.run` and the other steps return. It knows when the program waits for it. Neither it nor a promise that `then`,
 * `catch` or `finally` derives from it is ever an unhandled rejection: a program may never wait for a step, or wait for it late.
 */
export class StepPromise<Value> extends Promise<Value> {
  #onAwaited: (() => void) | undefined;
  #steps: readonly object[] = [];
  /** The promises that it was derived from. */
  #sources: readonly unknown[] = [];
  #hasLost = false;

  /**
   * @param onAwaited called when the program waits for the step
   * @param sources for a race: what was passed to it
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
   * Marks that derived promises and races have lost a race. A handler of rejections between them and their steps is for failures, so it is
   * not called when these steps are cancelled.
   */
  static lose(promise: unknown): void {
    if (!(promise instanceof StepPromise) || promise.#hasLost) return;
    promise.#hasLost = true;
    for (const source of promise.#sources) StepPromise.lose(source);
  }

  // biome-ignore lint/suspicious/noThenProperty: this is how a promise learns that it is awaited.
  override then<A = Value, B = never>(
    onFulfilled?: ((value: Value) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    // The runtime's `catch` calls this, too.
    const onFailed = (reason: unknown) => {
      if (reason instanceof StepCancelledError && next instanceof StepPromise && next.#hasLost) throw reason;
      return onRejected?.(reason);
    };
    const next: Promise<A | B> = this.#then(onFulfilled, typeof onRejected === "function" ? onFailed : undefined);
    return next;
  }

  /** As the runtime's. What it does comes also when the step lost a race. */
  override finally(onFinally?: (() => void) | null): Promise<Value> {
    if (typeof onFinally !== "function") return this.then();
    const settled = (end: () => Value) => Promise.resolve(onFinally()).then(end);
    return this.#then(
      (value: Value) => settled(() => value),
      (reason: unknown) =>
        settled(() => {
          throw reason;
        }),
    );
  }

  #then<A>(onFulfilled: unknown, onRejected: unknown): Promise<A> {
    this.#onAwaited?.();
    const next = nativeThen.call(this, onFulfilled as never, onRejected as never) as Promise<A>;
    markHandled(next);
    if (next instanceof StepPromise) {
      next.#steps = this.#steps;
      next.#sources = [this];
    }
    return next;
  }
}

const markHandled = (promise: Promise<unknown>): void => void nativeThen.call(promise, undefined, nothing);

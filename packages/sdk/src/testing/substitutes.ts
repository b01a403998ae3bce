import type { HttpCall } from "@tidemill/contract";
import type { StepContext } from "../workflow/context.ts";
import type { RunHost, StepFunction } from "../workflow/host.ts";

/**
 * What a step returns in place of what its function would: a value, or a function. By the step's name, or its key in the journal. Of
 * `step.http` it is the response (`HttpMock`), or a function of the call that returns it.
 */
export type Mocks = Readonly<Record<string, unknown>>;

/** How a step fails: with this error, or so many times with one of the helper's before it succeeds. */
export type Failures = Readonly<Record<string, Error | number>>;

/** Replaces functions of steps, and counts how often each step has succeeded. */
export class Substitutes {
  readonly #mocks: Mocks;
  readonly #fail: Failures;
  readonly #failed = new Map<string, number>();
  /** How often the function of each step has returned, by the step's key. */
  readonly effects = new Map<string, number>();

  constructor(mocks: Mocks, fail: Failures) {
    this.#mocks = mocks;
    this.#fail = fail;
  }

  readonly replace: NonNullable<RunHost["replace"]> = (step, fn) => {
    const mocked = this.#mocked(step, fn);
    return async (context) => {
      this.#throwChosen(step);
      const result = await mocked(context);
      this.effects.set(step.key, (this.effects.get(step.key) ?? 0) + 1);
      return result;
    };
  };

  /** The response to a call, which `unmocked` gives if the test does not. */
  replaceCall(step: { readonly name: string; readonly key: string }, call: HttpCall, unmocked: () => unknown): () => Promise<unknown> {
    const mocked = this.#mocked(step, unmocked) as unknown as (given: HttpCall) => unknown;
    return async () => {
      this.#throwChosen(step);
      const response = await mocked(call);
      this.effects.set(step.key, 1);
      return response;
    };
  }

  #mocked({ name, key }: { readonly name: string; readonly key: string }, fn: StepFunction): StepFunction {
    const found = [key, name].find((one) => Object.hasOwn(this.#mocks, one));
    if (found === undefined) return fn;
    const mock = this.#mocks[found];
    return typeof mock === "function" ? (mock as (context: StepContext) => unknown) : () => mock;
  }

  #throwChosen({ name, key }: { readonly name: string; readonly key: string }): void {
    const chosen = this.#fail[key] ?? this.#fail[name];
    if (chosen instanceof Error) throw chosen;
    const failed = this.#failed.get(key) ?? 0;
    if (chosen === undefined || failed >= chosen) return;
    this.#failed.set(key, failed + 1);
    throw new Error(`Chosen failure ${failed + 1} of step "${key}".`);
  }
}

import type { HttpCall, RunStep } from "@tidemill/contract";
import type { StepContext } from "../workflow/context.ts";
import type { RunHost, StepFunction } from "../workflow/host.ts";
import { neverEnds } from "./answers.ts";
import { checkUse } from "./check-use.ts";

/**
 * Replacements for the functions of steps: values, or functions. By the step's name, or its key in the journal. For `step.http` it is the
 * response (`HttpMock`), or a function that gets the call and returns the response. With `neverEnds`, `step.run` and `step.http` do not
 * end.
 */
export type Mocks = Readonly<Record<string, unknown>>;

/** How a step fails: always with this error, or this many times, with an error made here, before it succeeds. */
export type Failures = Readonly<Record<string, Error | number>>;

/** Replaces functions of steps, and counts how often each step has succeeded. */
export class Substitutes {
  /** Names and keys of the steps that could be replaced, including those of invoked runs. */
  readonly seen: Set<string>;
  readonly #mocks: Mocks;
  readonly #fail: Failures;
  readonly #failed = new Map<string, number>();
  /** How often the function of each step has returned, by the step's key. */
  readonly effects = new Map<string, number>();

  constructor(mocks: Mocks, fail: Failures, seen = new Set<string>()) {
    this.#mocks = mocks;
    this.#fail = fail;
    this.seen = seen;
  }

  /** The same for a run that this one invokes. */
  forChild(): Substitutes {
    return new Substitutes(this.#mocks, this.#fail, this.seen);
  }

  readonly replace: NonNullable<RunHost["replace"]> = (step, fn) => {
    const mocked = this.#mocked(step, fn);
    return async (context) => {
      this.#throwChosen(step);
      const result = await mocked(context);
      if (result !== neverEnds) this.effects.set(step.key, (this.effects.get(step.key) ?? 0) + 1);
      return result;
    };
  };

  /** The response to a call, which `unmocked` gives if the test does not. */
  replaceCall(step: { readonly name: string; readonly key: string }, call: HttpCall, unmocked: () => unknown): () => Promise<unknown> {
    const mocked = this.#mocked(step, unmocked) as unknown as (given: HttpCall) => unknown;
    return async () => {
      this.#throwChosen(step);
      const response = await mocked(call);
      if (response !== neverEnds) this.effects.set(step.key, 1);
      return response;
    };
  }

  #mocked({ name, key }: { readonly name: string; readonly key: string }, fn: StepFunction): StepFunction {
    this.seen.add(name).add(key);
    const found = [key, name].find((one) => Object.hasOwn(this.#mocks, one));
    if (found === undefined) return fn;
    const mock = this.#mocks[found];
    return typeof mock === "function" ? (mock as (context: StepContext) => unknown) : () => mock;
  }

  /** @throws for the name of a step that the run did not reach (`checkUse`), or that cannot be replaced */
  checkUse(isComplete: boolean, steps: readonly RunStep[]): void {
    for (const [option, given] of Object.entries({ mocks: this.#mocks, fail: this.#fail })) {
      const other = steps.find(({ key }) => Object.hasOwn(given, key) && !this.seen.has(key));
      if (other) throw new Error(`${option} has "${other.key}", which is a step of the type ${other.type}: the test cannot replace it.`);
      checkUse(option, Object.keys(given), { used: this.seen, isComplete, unused: "the run has no such step" });
    }
  }

  #throwChosen({ name, key }: { readonly name: string; readonly key: string }): void {
    const given = [key, name].find((one) => Object.hasOwn(this.#fail, one));
    const chosen = given === undefined ? undefined : this.#fail[given];
    if (chosen instanceof Error) throw chosen;
    const failed = this.#failed.get(key) ?? 0;
    if (chosen === undefined || failed >= chosen) return;
    this.#failed.set(key, failed + 1);
    throw new Error(`Chosen failure ${failed + 1} of step "${key}".`);
  }
}

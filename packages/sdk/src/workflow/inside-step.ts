/** A step whose function is executed, and the host of its execution. */
interface Inside {
  readonly host: object;
  readonly key: string;
}

interface Storage {
  run<Result>(inside: Inside, fn: () => Result): Result;
  getStore(): Inside | undefined;
}

/** Knows which step's function is running, but only until the function's first `await`. */
class SynchronousStorage implements Storage {
  #inside: Inside | undefined;

  run<Result>(inside: Inside, fn: () => Result): Result {
    const before = this.#inside;
    this.#inside = inside;
    try {
      return fn();
    } finally {
      this.#inside = before;
    }
  }

  getStore(): Inside | undefined {
    return this.#inside;
  }
}

/** Node's `AsyncLocalStorage`, which Bun and Deno have too. It is not imported, because edge runtimes do not have it. */
function openStorage(): Storage {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(id: string): { readonly AsyncLocalStorage?: new () => Storage } | undefined };
  };
  const Found = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
  return Found ? new Found() : new SynchronousStorage();
}

const storage = openStorage();

/** Calls the function of a step. */
export const insideStep = <Result>(host: object, key: string, fn: () => Result): Result => storage.run({ host, key }, fn);

/** The key of the step of this execution whose function is the caller, if there is one. Another run may be executed inside a step. */
export function stepAround(host: object): string | undefined {
  const inside = storage.getStore();
  return inside?.host === host ? inside.key : undefined;
}

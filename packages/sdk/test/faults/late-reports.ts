import type { Passed } from "../harness/faulty-proxy.ts";

/** Reports of workers on runs that are held back, so that they arrive when another worker executes the run. */
export class LateReports {
  readonly #held = new Map<string, (() => void)[]>();
  #holds = false;

  get count(): number {
    return this.#held.size;
  }

  /** From now on, reports are held back. */
  hold(): void {
    this.#holds = true;
  }

  /** New reports pass again. */
  letPass(): void {
    this.#holds = false;
  }

  /** To be called with each request, which waits for what it returns. */
  readonly onRequest = ({ path, body }: Passed): Promise<void> | undefined => {
    const [run] = this.#holds ? (/run_\w+/.exec(path) ?? /"settle":.*?(?<run>run_\w+)/.exec(body)?.slice(1) ?? []) : [];
    if (run === undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(run, [...(this.#held.get(run) ?? []), resolve]);
    return promise;
  };

  /** Lets reports on a run arrive. */
  release(run: string): void {
    if (this.#holds) return;
    for (const release of this.#held.get(run) ?? []) release();
    this.#held.delete(run);
  }

  releaseAll(): void {
    for (const run of this.#held.keys()) this.release(run);
  }
}

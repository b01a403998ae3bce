import { InterruptedError } from "../exit-code.ts";

/** Handles Ctrl-C while it is open: the first one ends the work in an orderly way, the second one immediately. Neither ends the process. */
export class Interrupts {
  readonly #first = new AbortController();
  readonly #second = new AbortController();

  constructor() {
    process.on("SIGINT", this.#onInterrupt);
  }

  get first(): AbortSignal {
    return this.#first.signal;
  }

  get second(): AbortSignal {
    return this.#second.signal;
  }

  close(): void {
    process.off("SIGINT", this.#onInterrupt);
  }

  readonly #onInterrupt = (): void => {
    const next = this.#first.signal.aborted ? this.#second : this.#first;
    next.abort(new InterruptedError("Stopped."));
  };
}

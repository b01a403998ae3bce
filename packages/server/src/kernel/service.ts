/** A part of a node that runs from the node's start to its stop. */
export interface Service {
  start(): void | Promise<void>;
  stop(): Promise<unknown>;
  /** Looks for work now. */
  wake?(): void;
}

/** Starts services in order, and stops the started ones in reverse order. */
export class Services {
  readonly #services: readonly Service[];
  readonly #onStopFailed: (error: unknown) => void;
  #started = 0;

  constructor(services: readonly Service[], onStopFailed: (error: unknown) => void) {
    this.#services = services;
    this.#onStopFailed = onStopFailed;
  }

  /** Starts all services. If one fails, stops it and those before it, and throws its error. */
  async start(): Promise<void> {
    try {
      for (const service of this.#services) {
        this.#started += 1;
        await service.start();
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Stops all services, even if some fail to stop. */
  async stop(): Promise<void> {
    for (; this.#started > 0; this.#started -= 1) {
      try {
        await this.#services[this.#started - 1]?.stop();
      } catch (error) {
        this.#onStopFailed(error);
      }
    }
  }

  wake(): void {
    for (const service of this.#services) service.wake?.();
  }
}

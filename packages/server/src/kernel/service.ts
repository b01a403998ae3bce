/** A part of a node that runs from its start to its stop. */
export interface Service {
  start(): void | Promise<void>;
  stop(): Promise<unknown>;
  /** Looks for work now. */
  wake?(): void;
}

/** Starts services in order, and stops those that have started in the opposite order. */
export class Services {
  readonly #services: readonly Service[];
  readonly #onStopFailed: (error: unknown) => void;
  #started = 0;

  constructor(services: readonly Service[], onStopFailed: (error: unknown) => void) {
    this.#services = services;
    this.#onStopFailed = onStopFailed;
  }

  /** One that fails to start, or any that started before it, is stopped again; then its error is thrown. */
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

  /** What fails to stop keeps no other from stopping. */
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

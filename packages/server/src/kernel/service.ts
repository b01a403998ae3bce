/** A part of a node that runs from the node's start to its stop. */
export interface Service {
  start(): void | Promise<void>;
  stop(): Promise<unknown>;
  /** Looks for work now. */
  wake?(): void;
  /** Looks for what other nodes may have announced, because some of their messages may be lost. */
  missed?(): void;
}

/**
 * Starts services in order, and stops those that have started in the opposite order. Services of a group (an inner list) do not depend
 * on one another: they stop together.
 */
export class Services {
  readonly #groups: readonly (readonly Service[])[];
  readonly #onStopFailed: (error: unknown) => void;
  #started: Service[] = [];

  constructor(services: readonly (Service | readonly Service[])[], onStopFailed: (error: unknown) => void) {
    this.#groups = services.map((one) => (Array.isArray(one) ? one : [one as Service]));
    this.#onStopFailed = onStopFailed;
  }

  /** If a service fails to start, it and those that started before it are stopped; then its error is thrown. */
  async start(): Promise<void> {
    try {
      for (const service of this.#groups.flat()) {
        this.#started.push(service);
        await service.start();
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Stops all services, even if some fail to stop. */
  async stop(): Promise<void> {
    const started = new Set(this.#started);
    this.#started = [];
    for (const group of this.#groups.toReversed()) {
      const stops = group.filter((service) => started.has(service)).map(async (service) => service.stop());
      for (const outcome of await Promise.allSettled(stops)) if (outcome.status === "rejected") this.#onStopFailed(outcome.reason);
    }
  }

  wake(): void {
    for (const service of this.#groups.flat()) service.wake?.();
  }

  missed(): void {
    for (const service of this.#groups.flat()) service.missed?.();
  }
}

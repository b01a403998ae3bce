/** What a measured client does: enqueue so many jobs, or run so many. */
export interface Order {
  readonly kind: "enqueue" | "work";
  readonly url: string;
  readonly key: string;
  readonly queue: string;
  readonly jobs: number;
}

export interface Took {
  readonly seconds: number;
  /** Of the client's process. Microseconds for each job. */
  readonly cpu: number;
}

/** Enqueues under way at the same time. */
export const CALLERS = 64;
/** Jobs under way at the same time. */
export const CONCURRENCY = 500;

/** Carries out the orders of the parent process. */
export function sayReady(carryOut: (order: Order) => Promise<void>): void {
  process.on("message", (order: Order) => {
    const before = process.cpuUsage();
    const startedMs = performance.now();
    void carryOut(order).then(() => {
      const { user, system } = process.cpuUsage(before);
      process.send?.({ seconds: (performance.now() - startedMs) / 1_000, cpu: (user + system) / order.jobs } satisfies Took);
    });
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.({});
}

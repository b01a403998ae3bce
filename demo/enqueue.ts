import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "./client.ts";
import type { Options } from "./options.ts";

/** A job that the service has acknowledged. */
export interface Acknowledged {
  readonly payload: { readonly n: number; readonly text: string };
  /** When its request was sent, by `performance.now()`. */
  readonly atMs: number;
}

const CONCURRENCY = 16;

/**
 * Enqueues each job with a request of its own, several requests at a time. With a rate, the requests are spread evenly.
 *
 * @param acknowledged receives each job that the service has acknowledged, by its id
 */
export async function enqueueAll(
  client: Client,
  queue: string,
  { jobs, rate }: Options,
  acknowledged: Map<string, Acknowledged>,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = performance.now();
  let next = 0;
  const enqueueOneByOne = async () => {
    while (next < jobs && !signal.aborted) {
      const n = next++;
      const dueMs = rate > 0 ? startedMs + (n * 1000) / rate : 0;
      if (dueMs > performance.now()) await wait(dueMs - performance.now(), undefined, { signal });
      const payload = { n, text: `job ${n}: "quoted", ünïcödé` };
      const atMs = performance.now();
      const { id } = await client.call<{ id: string }>("POST", `/v1/queues/${queue}/jobs`, { payload });
      acknowledged.set(id, { payload, atMs });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, enqueueOneByOne));
}

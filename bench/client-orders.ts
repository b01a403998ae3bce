/** What a measured client does: enqueue so many jobs, one by one from concurrent callers or in lists, or run so many. */
export interface Order {
  readonly kind: "enqueue" | "enqueueMany" | "work";
  /** Where the service is, or what takes its place. */
  readonly url: string;
  readonly key: string;
  readonly queue: string;
  readonly jobs: number;
}

export interface Took {
  readonly perSecond: number;
  /** Of the client's process. Microseconds for each job. */
  readonly cpu: number;
}

/** Enqueues under way at the same time. */
const CALLERS = 64;
/** Jobs of a list. */
const LIST = 100;
/** Lists under way at the same time. */
const LISTS = 4;
/** Jobs under way at the same time. */
export const CONCURRENCY = 500;
export const PAYLOAD = { to: "ada@example.com", subject: "Welcome" };

/** A client of one service. */
export interface Client {
  enqueue(): Promise<unknown>;
  enqueueMany(payloads: readonly (typeof PAYLOAD)[]): Promise<unknown>;
  /** Runs jobs until it is stopped. `onDone` is called for each. */
  work(onDone: () => void): Promise<{ stop(): Promise<unknown> }>;
  close(): Promise<unknown>;
}

/** Carries out the orders of the parent process. */
export function sayReady(open: (order: Order) => Promise<Client> | Client): void {
  process.on("message", (order: Order) => void carryOut(order, open).then((took) => process.send?.(took)));
  process.on("disconnect", () => process.exit(0));
  process.send?.({});
}

async function carryOut(order: Order, open: (order: Order) => Promise<Client> | Client): Promise<Took> {
  const client = await open(order);
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await WORK[order.kind](client, order.jobs);
  const { user, system } = process.cpuUsage(before);
  const took = { perSecond: (order.jobs / (performance.now() - startedMs)) * 1_000, cpu: (user + system) / order.jobs };
  await client.close();
  return took;
}

const WORK: Record<Order["kind"], (client: Client, jobs: number) => Promise<void>> = {
  enqueue: (client, jobs) => concurrently(CALLERS, jobs, () => client.enqueue()),
  enqueueMany(client, jobs) {
    const list = Array.from({ length: LIST }, () => PAYLOAD);
    return concurrently(LISTS, jobs / LIST, () => client.enqueueMany(list));
  },
  async work(client, jobs) {
    const all = Promise.withResolvers<void>();
    let done = 0;
    const worker = await client.work(() => {
      done += 1;
      if (done === jobs) all.resolve();
    });
    await all.promise;
    // With the outcomes of the last jobs.
    await worker.stop();
  },
};

async function concurrently(callers: number, calls: number, call: () => Promise<unknown>): Promise<void> {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

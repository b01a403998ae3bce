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
/** Jobs of a request of Tidemill's client, while 64 callers enqueue: it has two under way. */
export const FEW = 32;
/** Jobs of a list. */
export const LIST = 100;
/** Lists under way at the same time. */
export const LISTS = 4;
/** Jobs under way at the same time. */
export const CONCURRENCY = 500;
/** Jobs that Tidemill's worker takes in a call. */
export const TAKEN = 250;
export const PAYLOAD = { to: "ada@example.com", subject: "Welcome" };

/** A client of one service. */
export interface Client {
  enqueue(): Promise<unknown>;
  enqueueMany(payloads: readonly (typeof PAYLOAD)[]): Promise<unknown>;
  /** Runs jobs until it is stopped. `onDone` is called for each. */
  work(onDone: () => void): Promise<{ stop(): Promise<unknown> }>;
  close(): Promise<unknown>;
}

/** An order, ready to be carried out. Only `run` is measured. */
interface Prepared {
  run(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Carries out the orders of the parent process with a client of a service. */
export const sayReady = (open: (order: Order) => Promise<Client> | Client): void =>
  carryOut(async (order) => {
    const client = await open(order);
    return { run: () => WORK[order.kind](client, order.jobs), close: () => client.close() };
  });

/** Carries out the orders of the parent process. */
export function carryOut(prepare: (order: Order) => Promise<Prepared>): void {
  process.on("message", (order: Order) => void measure(order, prepare).then((took) => process.send?.(took)));
  process.on("disconnect", () => process.exit(0));
  process.send?.({});
}

async function measure(order: Order, prepare: (order: Order) => Promise<Prepared>): Promise<Took> {
  const prepared = await prepare(order);
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await prepared.run();
  const { user, system } = process.cpuUsage(before);
  const took = { perSecond: (order.jobs / (performance.now() - startedMs)) * 1_000, cpu: (user + system) / order.jobs };
  await prepared.close();
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

export async function concurrently(callers: number, calls: number, call: () => Promise<unknown>): Promise<void> {
  let left = calls;
  const caller = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

import { quantile } from "./table.ts";

/** What a measured client does with runs of five steps: start and finish them one at a time, 64 at a time, or only start them. */
export interface RunOrder {
  readonly kind: "alone" | "together" | "trigger";
  /** Where the service is. */
  readonly url: string;
  readonly key: string;
  /** What runs are called in this order: unique. */
  readonly name: string;
  readonly runs: number;
}

export interface RunsTook {
  readonly perSecond: number;
  /** From the call that starts a run to the end of its function. Milliseconds, the median. */
  readonly p50Ms: number;
  /** Of the client's process. Microseconds for each run. */
  readonly cpu: number;
}

export const STEPS = 5;
const CALLERS = 64;

/** A client of one service, which also executes the runs that it starts. */
export interface RunClient {
  /** Starts a run, whose function calls `onEnd` with this number. */
  start(number: number): Promise<unknown>;
  /** Whether runs are executed. They are unless it is false. */
  readonly executes?: boolean;
  close(): Promise<unknown>;
}

/** Carries out the orders of the parent process. */
export function sayReady(open: (order: RunOrder, onEnd: (number: number) => void) => Promise<RunClient>): void {
  process.on("message", (order: RunOrder) => void carryOut(order, open).then((took) => process.send?.(took)));
  process.on("disconnect", () => process.exit(0));
  process.send?.({});
}

async function carryOut(
  order: RunOrder,
  open: (order: RunOrder, onEnd: (number: number) => void) => Promise<RunClient>,
): Promise<RunsTook> {
  const ended = new Map<number, () => void>();
  const client = await open(order, (number) => ended.get(number)?.());
  const took: number[] = [];
  const ends: Promise<void>[] = [];
  const start = async (number: number): Promise<void> => {
    const startedMs = performance.now();
    const end = new Promise<void>((resolve) => ended.set(number, resolve)).then(() => void took.push(performance.now() - startedMs));
    ends.push(end);
    await client.start(number);
    if (order.kind !== "trigger") await end;
  };
  const before = process.cpuUsage();
  const startedMs = performance.now();
  await concurrently(order.kind === "alone" ? 1 : CALLERS, order.runs, start);
  const seconds = (performance.now() - startedMs) / 1_000;
  const { user, system } = process.cpuUsage(before);
  if (client.executes !== false) await Promise.all(ends);
  await client.close();
  return { perSecond: order.runs / seconds, p50Ms: quantile(took, 0.5), cpu: (user + system) / order.runs };
}

async function concurrently(callers: number, calls: number, call: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const caller = async () => {
    while (next < calls) await call(next++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

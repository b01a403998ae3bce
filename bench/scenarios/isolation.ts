import { createServer, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type BenchNode, type Environment, JOB } from "../environment.ts";
import { type JobTimes, PacedQueue } from "../paced.ts";
import { type Figure, median, quantile } from "../table.ts";

const ROUNDS = 3;
const PER_SECOND = 100;
const SECONDS = 5;
const JOBS = 10_000;
const BAR = 1.5;

/**
 * From sending an enqueue to the first byte at its handler. Another queue has 10,000 jobs, and its endpoint is dead or hangs. The
 * yardstick is the same queue alone.
 */
export async function isolation(environment: Environment): Promise<Figure[]> {
  const node = await environment.node();
  const queue = await PacedQueue.open(node, environment.queueName());
  const hanging = await Hanging.open();
  const alone: JobTimes[][] = [];
  const beside: Record<string, JobTimes[][]> = { dead: [], hanging: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [kind, url] of [["dead", "http://127.0.0.1:9/"] as const, ["hanging", hanging.url] as const]) {
      alone.push(await queue.run(PER_SECOND, SECONDS));
      beside[kind]?.push(await besideFull(node, environment.queueName(), url, () => queue.run(PER_SECOND, SECONDS)));
    }
  }
  queue.close();
  hanging.close();
  await node.stop();
  return Object.entries(beside).flatMap(([kind, rounds]) => [
    figure(kind, "p50", 0.5, rounds, alone),
    figure(kind, "p99", 0.99, rounds, alone),
  ]);
}

/** Runs `work` while another queue delivers 10,000 jobs to `url`. */
async function besideFull(node: BenchNode, name: string, url: string, work: () => Promise<JobTimes[]>): Promise<JobTimes[]> {
  await node.api("POST", "/v1/queues", { name, callback_url: url, paused: true });
  await node.fill(name, JOBS, JOB);
  await node.api("PATCH", `/v1/queues/${name}`, { paused: false });
  const times = await work();
  await node.api("DELETE", `/v1/queues/${name}`);
  // The work after a deletion ends before the next round begins.
  await wait(1_000);
  return times;
}

function figure(kind: string, name: string, part: number, rounds: JobTimes[][], alone: JobTimes[][]): Figure {
  const at = (times: JobTimes[]) =>
    quantile(
      times.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs),
      part,
    );
  const withIt = median(rounds.map(at));
  const without = median(alone.map(at));
  const ratio = withIt / without;
  return {
    name: `enqueue to handler beside a ${kind} endpoint with 10,000 jobs, ${name}`,
    measured: `${withIt.toFixed(2)} ms`,
    yardstick: `${without.toFixed(2)} ms alone`,
    ratio: ratio.toFixed(2),
    bar: `≤ ${BAR}`,
    met: ratio <= BAR,
  };
}

/** Accepts connections and never responds. */
class Hanging {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    socket.resume();
  });

  static async open(): Promise<Hanging> {
    const hanging = new Hanging();
    await new Promise<void>((resolve) => hanging.#server.listen(0, "127.0.0.1", resolve));
    return hanging;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

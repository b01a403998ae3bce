import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { type BenchNode, JOB } from "./environment.ts";

/** When a job was sent, was acknowledged, and arrived at its handler. Milliseconds by `performance.now()`. */
export interface JobTimes {
  readonly sentMs: number;
  readonly acknowledgedMs: number;
  readonly arrivedMs: number;
}

const WARM_UP = 50;

/** A queue with its own handler, which receives jobs at a steady rate. */
export class PacedQueue {
  readonly #node: BenchNode;
  readonly #queue: string;
  readonly #arrived = new Map<string, number>();
  readonly #server = createServer((request, response) => {
    this.#arrived.set(String(request.headers["x-service-job-id"]), performance.now());
    request.resume();
    response.end();
  });

  private constructor(node: BenchNode, queue: string) {
    this.#node = node;
    this.#queue = queue;
  }

  static async open(node: BenchNode, queue: string): Promise<PacedQueue> {
    const paced = new PacedQueue(node, queue);
    await new Promise<void>((resolve) => paced.#server.listen(0, "127.0.0.1", resolve));
    const { port } = paced.#server.address() as AddressInfo;
    await node.api("POST", "/v1/queues", { name: queue, callback_url: `http://127.0.0.1:${port}/` });
    for (let job = 0; job < WARM_UP; job += 1) await paced.#enqueue();
    return paced;
  }

  async run(perSecond: number, seconds: number): Promise<JobTimes[]> {
    const startedMs = performance.now();
    const requests: Promise<Omit<JobTimes, "arrivedMs"> & { id: string }>[] = [];
    for (let sent = 0; sent < perSecond * seconds; sent += 1) {
      const dueMs = startedMs + (sent * 1000) / perSecond;
      if (dueMs > performance.now()) await wait(dueMs - performance.now());
      requests.push(this.#enqueue());
    }
    const acknowledged = await Promise.all(requests);
    while (!acknowledged.every(({ id }) => this.#arrived.has(id))) await wait(10);
    return acknowledged.map(({ id, ...job }) => ({ ...job, arrivedMs: this.#arrived.get(id) ?? Number.NaN }));
  }

  close(): void {
    this.#server.close();
  }

  async #enqueue(): Promise<Omit<JobTimes, "arrivedMs"> & { id: string }> {
    const sentMs = performance.now();
    const { id } = await this.#node.api<{ id: string }>("POST", `/v1/queues/${this.#queue}/jobs`, JOB);
    return { id, sentMs, acknowledgedMs: performance.now() };
  }
}

import type { WorkResponse } from "@tidemill/contract";
import { ask } from "./ask.ts";
import { KEY } from "./process.ts";

/** A worker as anybody could write it, with nothing but HTTP: it repeats a call that got no response. */
export class FetchWorker {
  /** `<job> <attempt>` for each job that it got. */
  readonly got = new Set<string>();
  readonly #name: string;
  readonly #urls: readonly string[];
  readonly #queue: string;
  readonly #lease: number;
  #calls = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(name: string, urls: readonly string[], queue: string, lease = 30) {
    this.#name = name;
    this.#urls = urls;
    this.#queue = queue;
    this.#lease = lease;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    let settle: object[] = [];
    while (!this.#stopped) {
      const call = {
        worker: this.#name,
        queues: [this.#queue],
        limit: 5,
        lease: this.#lease,
        wait: 1,
        request: `${++this.#calls}`,
        settle,
      };
      const jobs = await this.#call(call);
      for (const { id, attempt } of jobs) this.got.add(`${id} ${attempt}`);
      settle = jobs.map(({ id, lease_token }) => ({ id, lease_token, outcome: "completed" }));
    }
  }

  /** Asks the nodes in turn until one answers. */
  async #call(body: object): Promise<WorkResponse["jobs"]> {
    for (let tries = this.#calls; !this.#stopped; tries += 1) {
      const url = this.#urls[tries % this.#urls.length] as string;
      try {
        const { status, body: answer } = await ask(url, KEY, "POST", "/v1/work", body);
        if (status === 200) return (answer as WorkResponse).jobs;
      } catch {
        // The node is gone, or the connection was cut.
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return [];
  }
}

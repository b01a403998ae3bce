import { ask, bodyOf, type Reply } from "./ask.ts";
import { KEY } from "./process.ts";

/** An API client of one node. */
export class Client {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key = KEY) {
    this.#url = url;
    this.#key = key;
  }

  api(method: string, path: string, body?: unknown): Promise<Reply> {
    return ask(this.#url, this.#key, method, path, body);
  }

  /** As `api`, but returns the body, and throws if the response is not a success. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which body it expects. A wrong guess fails it.
  async ok(method: string, path: string, body?: unknown): Promise<any> {
    return bodyOf(await this.api(method, path, body), method, path);
  }

  async status(path: string): Promise<number> {
    return (await this.api("GET", path)).status;
  }

  /** Creates a queue that calls `callbackUrl`. Returns its name. */
  async queue(name: string, callbackUrl: string, settings: Record<string, unknown> = {}): Promise<string> {
    await this.ok("POST", "/v1/queues", { name, callback_url: callbackUrl, ...settings });
    return name;
  }

  /** Enqueues a job. Returns its id. */
  async enqueue(queue: string, job: Record<string, unknown> = {}): Promise<string> {
    return (await this.ok("POST", `/v1/queues/${queue}/jobs`, { payload: {}, ...job })).id;
  }

  /** Enqueues jobs in one batch. Returns their ids. */
  async enqueueMany(queue: string, count: number, job: Record<string, unknown> = {}): Promise<string[]> {
    const jobs = Array.from({ length: count }, (_, n) => ({ payload: { n }, ...job }));
    const { jobs: made } = await this.ok("POST", `/v1/queues/${queue}/jobs/batch`, { jobs });
    return (made as { id: string }[]).map(({ id }) => id);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above.
  job(queue: string, id: string): Promise<any> {
    return this.ok("GET", `/v1/queues/${queue}/jobs/${id}`);
  }

  async states(queue: string): Promise<Record<string, number>> {
    return (await this.ok("GET", `/v1/queues/${queue}`)).metrics;
  }
}

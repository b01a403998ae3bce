import type {
  CreateQueue,
  ListedQueue,
  ListQueues,
  PatchQueue,
  QueueWithMetrics,
  QueueWithSecret,
  Retried,
  RetryAll,
} from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The settings of queues. */
export class Queues {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListQueues = {}, call?: CallOptions): List<ListedQueue, ListQueues> {
    return this.#api.list("/v1/queues", filter, call);
  }

  /** Creates a queue. Only this response contains its `callback_secret`. */
  create(queue: CreateQueue, call?: CallOptions): Promise<QueueWithSecret> {
    return this.#api.post("/v1/queues", queue, call);
  }

  /** The settings, the circuit and the metrics of a queue. */
  get(name: string, call?: CallOptions): Promise<QueueWithMetrics> {
    return this.#api.get(pathOf("queues", name), call);
  }

  /** Changes the settings of a queue. Only the response to the call that generates a `callback_secret` contains it. */
  update(name: string, changes: PatchQueue, call?: CallOptions): Promise<QueueWithSecret> {
    return this.#api.patch(pathOf("queues", name), changes, call);
  }

  /** Deletes a queue with its jobs and schedules. */
  delete(name: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("queues", name), call);
  }

  /** Retries the failed jobs of a queue: all, or those that match every filter. */
  retryAll(name: string, filter: RetryAll = {}, call?: CallOptions): Promise<Retried> {
    return this.#api.post(pathOf("queues", name, "retry-all"), filter, call);
  }
}

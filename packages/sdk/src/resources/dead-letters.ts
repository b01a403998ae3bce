import type { DeadLetterFilter, DeadLetterGroup, ListDeadLetterGroups, ListDeadLetters, Purged, Retried } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { Job } from "../job.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The dead-letter queue: the failed jobs of all queues. */
export class DeadLetters {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListDeadLetters = {}, call?: CallOptions): List<Job, ListDeadLetters> {
    return this.#api.list("/v1/dlq", filter, call);
  }

  /** Failed jobs in groups, by what failed. A group's `fingerprint` filters `list`, `retry` and `purge`. */
  groups(query: ListDeadLetterGroups = {}, call?: CallOptions): List<DeadLetterGroup, ListDeadLetterGroups> {
    return this.#api.list("/v1/dlq/groups", query, call);
  }

  /** Puts failed jobs back to wait: those that match every filter. Without a filter, every failed job of the workspace. */
  retry(filter: DeadLetterFilter, call?: CallOptions): Promise<Retried> {
    return this.#api.post("/v1/dlq/retry", filter, call);
  }

  /** Removes failed jobs: those that match every filter. Without a filter, every failed job of the workspace. */
  purge(filter: DeadLetterFilter, call?: CallOptions): Promise<Purged> {
    return this.#api.post("/v1/dlq/purge", filter, call);
  }
}

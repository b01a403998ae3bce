import type { ListWorkers, WorkerRecord } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Workers that called in the last 15 minutes. */
export class Workers {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListWorkers = {}, call?: CallOptions): List<WorkerRecord, ListWorkers> {
    return this.#api.list("/v1/workers", filter, call);
  }
}

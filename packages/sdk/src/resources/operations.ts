import type { ListOperations, Operation } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Changes of many jobs, which nodes execute in the background. */
export class Operations {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(query: ListOperations = {}, call?: CallOptions): List<Operation, ListOperations> {
    return this.#api.list("/v1/operations", query, call);
  }

  get(id: string, call?: CallOptions): Promise<Operation> {
    return this.#api.get(pathOf("operations", id), call);
  }

  /** Stops an operation. Jobs that it has changed stay changed. */
  cancel(id: string, call?: CallOptions): Promise<Operation> {
    return this.#api.post(`${pathOf("operations", id)}/cancel`, undefined, call);
  }
}

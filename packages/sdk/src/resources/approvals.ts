import type { ListApprovals, PendingJob } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Jobs of all queues that wait for a decision. `queue(name).jobs.approve` and `.reject` decide them. */
export class Approvals {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListApprovals = {}, call?: CallOptions): List<PendingJob, ListApprovals> {
    return this.#api.list("/v1/approvals", filter, call);
  }
}

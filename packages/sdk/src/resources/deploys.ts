import type { Deploy, ListDeploys, NewDeploy } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Deploys of your services, which charts and the audit log show. */
export class Deploys {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Marks that a version of something was deployed now. */
  mark(deploy: NewDeploy, call?: CallOptions): Promise<Deploy> {
    return this.#api.post("/v1/deploys", deploy, call);
  }

  list(filter: ListDeploys = {}, call?: CallOptions): List<Deploy, ListDeploys> {
    return this.#api.list("/v1/deploys", filter, call);
  }
}

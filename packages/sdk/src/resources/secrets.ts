import type { CreateSecret, ListSecrets, PatchSecret, Secret } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Secrets, whose values replace templates when a job is delivered. No response contains a value. */
export class Secrets {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListSecrets = {}, call?: CallOptions): List<Secret, ListSecrets> {
    return this.#api.list("/v1/secrets", filter, call);
  }

  create(secret: CreateSecret, call?: CallOptions): Promise<Secret> {
    return this.#api.post("/v1/secrets", secret, call);
  }

  update(name: string, changes: PatchSecret, call?: CallOptions): Promise<Secret> {
    return this.#api.patch(pathOf("secrets", name), changes, call);
  }

  delete(name: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("secrets", name), call);
  }
}

import type { CreatedKey, CreateKey, Key, ListKeys } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The keys of the workspace. */
export class Keys {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListKeys = {}, call?: CallOptions): List<Key, ListKeys> {
    return this.#api.list("/v1/keys", filter, call);
  }

  /** Creates a key. Only this response contains it. */
  create(key: CreateKey, call?: CallOptions): Promise<CreatedKey> {
    return this.#api.post("/v1/keys", key, call);
  }

  /** Revokes a key: the service refuses it from now on. */
  revoke(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("keys", id), call);
  }
}

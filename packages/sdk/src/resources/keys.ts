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

  /** The text of the key is in this response alone. */
  create(key: CreateKey, call?: CallOptions): Promise<CreatedKey> {
    return this.#api.post("/v1/keys", key, call);
  }

  /** The service refuses the key from now on. */
  revoke(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("keys", id), call);
  }
}

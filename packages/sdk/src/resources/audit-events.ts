import type { AuditEvent, ListAuditEvents } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The audit log of the workspace. */
export class AuditEvents {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListAuditEvents = {}, call?: CallOptions): List<AuditEvent, ListAuditEvents> {
    return this.#api.list("/v1/audit-events", filter, call);
  }
}

import type { CreatedInvitation, CreateInvitation, Invitation, ListInvitations } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** Invitations to the workspace that can still be accepted. */
export class Invitations {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(filter: ListInvitations = {}, call?: CallOptions): List<Invitation, ListInvitations> {
    return this.#api.list("/v1/invitations", filter, call);
  }

  /** Creates an invitation. Only this response contains the URL that accepts it. */
  create(invitation: CreateInvitation, call?: CallOptions): Promise<CreatedInvitation> {
    return this.#api.post("/v1/invitations", invitation, call);
  }

  /** Revokes an invitation: it can no longer be accepted. */
  revoke(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("invitations", id), call);
  }
}

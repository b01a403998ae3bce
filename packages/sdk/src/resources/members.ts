import type { AddMember, ListMembers, Member, PatchMember } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The people of the workspace. */
export class Members {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The people of the workspace, newest accounts first. */
  list(filter: ListMembers = {}, call?: CallOptions): List<Member, ListMembers> {
    return this.#api.list("/v1/members", filter, call);
  }

  /** Adds a person who has an account on the service. Keys may not (FORBIDDEN): invite people instead (`tidemill.invitations`). */
  add(member: AddMember, call?: CallOptions): Promise<Member> {
    return this.#api.post("/v1/members", member, call);
  }

  /** Changes the role of a person, with immediate effect. */
  update(id: string, changes: PatchMember, call?: CallOptions): Promise<Member> {
    return this.#api.patch(pathOf("members", id), changes, call);
  }

  /** Removes a person from the workspace, with immediate effect. The last admin cannot be removed. */
  remove(id: string, call?: CallOptions): Promise<void> {
    return this.#api.delete(pathOf("members", id), call);
  }
}

import type { AccountEvent, AccountEventType } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Db, type PersonId, typeId, type UuidSource } from "#kernel";
import { type AccountEventRow, insertAccountEvent } from "./account-event-store.ts";

const MAX_USER_AGENT = 256;

/**
 * Records what happens to people's accounts, which belong to no workspace: sign-ins, and changes of how people sign in. The person reads it
 * on their account page, an operator with `tidemill people log`.
 */
export class AccountLog {
  readonly #ids: UuidSource;
  readonly #clientAddress: (request: FastifyRequest) => string;

  constructor(ids: UuidSource, clientAddress: (request: FastifyRequest) => string) {
    this.#ids = ids;
    this.#clientAddress = clientAddress;
  }

  /** Records what the person, or somebody who acts as them, did, in the transaction of the change. */
  async record(db: Db, request: FastifyRequest, personId: PersonId, type: AccountEventType, detail: string | null = null): Promise<void> {
    const { address, userAgent } = this.from(request);
    const event = { event_type: type, actor_id: typeId("usr", personId), address, user_agent: userAgent, detail };
    await insertAccountEvent(db, personId, { id: this.#ids.next(), ...event });
  }

  /** Where a request came from. */
  from(request: FastifyRequest): { address: string; userAgent: string | null } {
    const userAgent = request.headers["user-agent"]?.slice(0, MAX_USER_AGENT) ?? null;
    return { address: this.#clientAddress(request), userAgent };
  }
}

/** Records what an operator or the service itself did, in the transaction of the change. */
export async function recordFor(
  db: Db,
  { ids }: { readonly ids: UuidSource },
  personId: PersonId,
  actorId: string,
  type: AccountEventType,
  detail: string | null = null,
): Promise<void> {
  await insertAccountEvent(db, personId, { id: ids.next(), event_type: type, actor_id: actorId, address: null, user_agent: null, detail });
}

export const showAccountEvent = ({ id, ...event }: AccountEventRow): AccountEvent => ({ id: typeId("acc", id), ...event });

import type { TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { PersonId } from "#kernel";
import type { PeopleContext } from "../people-context.ts";
import { lockPerson, markVerified, updatePassword } from "../person-store.ts";
import { findTotp } from "../second-factors/totp-store.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import { deleteSessions } from "../sessions/session-store.ts";
import type { OpenedSession } from "../sessions/sessions.ts";
import { deleteLink, deleteLinksOf, type LinkRow } from "./link-store.ts";
import { given, linkNotFound } from "./links.ts";
import { dropCredentials } from "./reset.ts";

/**
 * Sets a new password. The old one and all sessions end. A person who got the link by mail has proven that the address is theirs. If nobody
 * had proven that before, the account may belong to somebody else who only claimed the address. So all other ways to sign in that were
 * added until then are removed.
 */
export async function takeReset(
  context: PeopleContext,
  request: FastifyRequest,
  link: LinkRow,
  fields: TakeLink,
): Promise<OpenedSession | null> {
  const { database, sessions, passwords, account } = context;
  const personId = link.personId as PersonId;
  const hash = await passwords.hash(networkOfRequest(context, request), given(fields, "password"));
  const opened = await database.transaction(async (tx) => {
    const person = await lockPerson(tx, personId);
    if (!person || !(await deleteLink(tx, link.id))) throw linkNotFound();
    if (link.mailed) {
      if (link.email !== person.email) throw linkNotFound();
      if (!person.verified) await dropCredentials(tx, personId);
      await markVerified(tx, personId);
    }
    await deleteLinksOf(tx, personId);
    const updated = await updatePassword(tx, personId, hash, null);
    if (!updated) throw linkNotFound();
    await deleteSessions(tx, personId, null);
    await account.record(tx, request, personId, "password.reset");
    // The mail proves less than the password and the authenticator together.
    if ((await findTotp(tx, personId))?.enabled) return null;
    const session = await sessions.open(tx, request, { id: personId, version: updated.version }, "link");
    if (!session) throw linkNotFound();
    return session;
  });
  context.onPersonChanged(personId);
  return opened;
}

import type { FastifyRequest } from "fastify";
import { problem } from "#kernel";
import type { PeopleContext } from "../people-context.ts";
import { lockPerson, updateEmail } from "../person-store.ts";
import { deleteLink, type LinkRow } from "./link-store.ts";
import { linkNotFound } from "./links.ts";

/**
 * A person has proven that a mail address is theirs. They must be signed in: a person who only reads the mail may be the real owner of an
 * address that somebody else claims.
 *
 * @throws UNAUTHORIZED unless that person is signed in
 */
export async function takeVerification(
  { database, sessions, account }: PeopleContext,
  request: FastifyRequest,
  link: LinkRow,
): Promise<null> {
  const session = await sessions.find(request);
  if (session?.personId !== link.personId) {
    throw problem("UNAUTHORIZED", { sign_in_required: true }, { message: "Sign in to the account to which you want to add this address." });
  }
  return database.transaction(async (tx) => {
    await lockPerson(tx, session.personId);
    if (!(await deleteLink(tx, link.id))) throw linkNotFound();
    if (!(await updateEmail(tx, session.personId, link.email ?? "", true))) throw linkNotFound();
    await account.record(tx, request, session.personId, "email.changed", link.email);
    return null;
  });
}

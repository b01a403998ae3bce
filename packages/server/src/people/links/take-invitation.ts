import type { PersonRole, TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Db, type PersonId, problem, typeId, type WorkspaceId } from "#kernel";
import { normalizeEmail } from "../email.ts";
import { insertMembership } from "../members/membership-store.ts";
import type { PeopleContext } from "../people-context.ts";
import { findPersonByEmail, insertPerson, keepPerson } from "../person-store.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import type { OpenedSession } from "../sessions/sessions.ts";
import { throttle } from "../sessions/throttle.ts";
import { deleteLink, type LinkRow } from "./link-store.ts";
import { given, linkNotFound, signInRequired } from "./links.ts";

/**
 * Accepts an invitation: for the account of the person who is signed in, otherwise for a new one. The address of a new account is not
 * proven, because the person who invites has the link, too.
 *
 * @returns the session of a new account; null for one that was signed in
 * @throws FORBIDDEN when the invitation is for another address; CONFLICT for a member; UNAUTHORIZED when the address has an account to sign
 *   in to; RATE_LIMITED when that happened too often: an invitation should not reveal who has an account
 */
export async function takeInvitation(
  context: PeopleContext,
  request: FastifyRequest,
  link: LinkRow,
  fields: TakeLink,
): Promise<OpenedSession | null> {
  const { database, sessions } = context;
  const session = await sessions.find(request);
  if (!session) return takeAsNewPerson(context, request, link, fields);
  if (link.email !== null && link.email !== session.email) {
    throw problem("FORBIDDEN", {}, { message: "This invitation is for another mail address. Sign out first." });
  }
  await database.transaction(async (tx) => {
    await keepPerson(tx, session.personId);
    await join(tx, context, link, session.personId);
  });
  return null;
}

async function takeAsNewPerson(context: PeopleContext, request: FastifyRequest, link: LinkRow, fields: TakeLink): Promise<OpenedSession> {
  const { database, sessions, passwords, ids } = context;
  const email = link.email ?? normalizeEmail(given(fields, "email"));
  const takeBack = await throttle(database, { takenAddress: link.id, takenAddressBy: `${link.workspaceId} ${link.createdBy}` });
  if (await findPersonByEmail(database, email)) throw signInRequired();
  await takeBack();
  const name = given(fields, "name").trim();
  const passwordHash = await passwords.hash(networkOfRequest(context, request), given(fields, "password"));
  return database.transaction(async (tx) => {
    const id = ids.next() as PersonId;
    const inserted = await insertPerson(tx, { id, name, email, passwordHash, operator: false, verified: false });
    if (!inserted) throw signInRequired();
    await join(tx, context, link, id);
    const opened = await sessions.open(tx, request, { id, version: inserted.version }, "link");
    if (!opened) throw linkNotFound();
    return opened;
  });
}

/** Uses up the invitation. A member keeps the role that they have, and the invitation stays. */
async function join(tx: Db, { audit }: PeopleContext, link: LinkRow, personId: PersonId): Promise<void> {
  const workspaceId = link.workspaceId as WorkspaceId;
  const role = link.role as PersonRole;
  if (!(await deleteLink(tx, link.id))) throw linkNotFound();
  if (!(await insertMembership(tx, workspaceId, personId, role))) {
    throw problem("CONFLICT", {}, { message: "You already belong to this workspace." });
  }
  await audit.record(tx, {
    workspaceId,
    eventType: "invitation.accepted",
    actorId: typeId("usr", personId),
    resourceType: "invitation",
    resourceId: typeId("inv", link.id),
    input: { role, email: link.email, invited_by: link.createdBy },
    output: null,
  });
}

import type { TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type PersonId, problem, typeId } from "#kernel";
import { normalizeEmail } from "../email.ts";
import { auditMember } from "../members/members.ts";
import { insertMembership } from "../members/membership-store.ts";
import type { PeopleContext } from "../people-context.ts";
import { insertPerson } from "../person-store.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import type { OpenedSession } from "../sessions/sessions.ts";
import { deleteLink, deleteSetupLinks, type LinkRow, lockSetup } from "./link-store.ts";
import { given, linkNotFound } from "./links.ts";

/** Makes the first person, or another operator. @throws CONFLICT for an address that is taken */
export async function takeSetup(context: PeopleContext, request: FastifyRequest, link: LinkRow, fields: TakeLink): Promise<OpenedSession> {
  const { database, sessions, passwords, ids, audit } = context;
  const person = { name: given(fields, "name").trim(), email: normalizeEmail(given(fields, "email")) };
  const passwordHash = await passwords.hash(networkOfRequest(context, request), given(fields, "password"));
  return database.transaction(async (tx) => {
    await lockSetup(tx);
    if (!(await deleteLink(tx, link.id))) throw linkNotFound();
    // Each start makes a set-up link while there is no person. After the first is used, the others must not work.
    await deleteSetupLinks(tx);
    const id = ids.next() as PersonId;
    const inserted = await insertPerson(tx, { ...person, id, passwordHash, operator: true, verified: false });
    if (!inserted) throw problem("CONFLICT", {}, { message: "There is already a person with this mail address." });
    if (link.workspaceId && (await insertMembership(tx, link.workspaceId, id, "admin"))) {
      const actor = { workspaceId: link.workspaceId, actorId: typeId("usr", id) };
      await auditMember(tx, audit, actor, "member.added", id, { role: "admin", by: "set-up link" }, null);
    }
    const opened = await sessions.open(tx, request, { id, version: inserted.version }, "link");
    if (!opened) throw linkNotFound();
    return opened;
  });
}

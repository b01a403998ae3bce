import type { TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type Db, invalid, notFound, type PersonId, type ProblemError, problem } from "#kernel";
import { normalizeEmail } from "./email.ts";
import { deleteLink, deleteSetupLinks, findLinkAcrossWorkspaces, type LinkRow, lockSetup } from "./link-store.ts";
import { setMembership } from "./membership-store.ts";
import type { PeopleContext } from "./people-context.ts";
import { insertPerson } from "./person-store.ts";
import type { OpenedSession } from "./sessions.ts";
import { hashToken } from "./token.ts";

/** The same for a link that was used, has expired, or never was. */
const linkNotFound = (): ProblemError => notFound({ resource: "link" });

/** @throws NOT_FOUND for a link that cannot be used (any more) */
export async function findLink(db: Db, token: string): Promise<LinkRow> {
  const hash = hashToken(token);
  const link = hash && (await findLinkAcrossWorkspaces(db, hash));
  if (!link) throw linkNotFound();
  return link;
}

/**
 * Uses a link, once, and signs its user in.
 *
 * @throws NOT_FOUND for a link that cannot be used (any more); VALIDATION_ERROR for missing fields; CONFLICT for an address that is taken
 */
export async function takeLink(context: PeopleContext, request: FastifyRequest, token: string, given: TakeLink): Promise<OpenedSession> {
  const link = await findLink(context.database, token);
  return takeSetup(context, request, link, given);
}

/** Makes the first person, or another operator. */
async function takeSetup(context: PeopleContext, request: FastifyRequest, link: LinkRow, given: TakeLink): Promise<OpenedSession> {
  const { database, sessions, ids } = context;
  const person = await newPerson(context, given);
  return database.transaction(async (tx) => {
    await lockSetup(tx);
    if (!(await deleteLink(tx, link.id))) throw linkNotFound();
    // Each start makes one while there is nobody. Who used the first shall be alone.
    await deleteSetupLinks(tx);
    const id = ids.next() as PersonId;
    const inserted = await insertPerson(tx, { ...person, id, operator: true, verified: false });
    if (!inserted) throw emailTaken();
    if (link.workspaceId) await setMembership(tx, link.workspaceId, id, "admin");
    const opened = await sessions.open(tx, request, { id, version: inserted.version }, "link");
    if (!opened) throw linkNotFound();
    return opened;
  });
}

async function newPerson({ passwords }: PeopleContext, { name, email, password }: TakeLink) {
  if (name === undefined) throw invalid("name", "is required");
  if (email === undefined) throw invalid("email", "is required");
  if (password === undefined) throw invalid("password", "is required");
  return { name: name.trim(), email: normalizeEmail(email), passwordHash: await passwords.hash(password) };
}

const emailTaken = () => problem("CONFLICT", {}, { message: "There is already a person with this mail address." });

import type { TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { type PersonId, problem } from "#kernel";
import { normalizeEmail } from "./email.ts";
import { deleteLink, type LinkRow } from "./links/link-store.ts";
import { given, linkNotFound, signInRequired } from "./links/links.ts";
import { makeLink } from "./links/make-link.ts";
import { makeResetLink } from "./links/reset.ts";
import { resetMail, verifyMail } from "./mails.ts";
import { makeOwnWorkspace } from "./own-workspaces.ts";
import type { PeopleContext } from "./people-context.ts";
import { findPersonByEmail, insertPerson } from "./person-store.ts";
import { networkOfRequest } from "./sessions/client-address.ts";
import type { OpenedSession } from "./sessions/sessions.ts";
import { throttle } from "./sessions/throttle.ts";

const SIGN_UP_HOURS = 24;

/**
 * Sends a link with which a stranger makes an account. If the address has an account, it gets a link to set a new password instead. The
 * response is the same.
 *
 * @throws FORBIDDEN if strangers cannot sign up; RATE_LIMITED
 */
export async function requestSignUp(context: PeopleContext, request: FastifyRequest, address: string): Promise<void> {
  const { database, mailer, signUpIsOpen } = context;
  if (!signUpIsOpen || !mailer) throw problem("FORBIDDEN", {}, { message: "Ask an administrator of a workspace for an invitation." });
  const email = normalizeEmail(address);
  await throttle(database, { signUpAddress: networkOfRequest(context, request), signUpTo: email });
  // Not awaited: its duration would reveal whether there is such a person.
  void (async () => {
    const person = await findPersonByEmail(database, email);
    if (person) {
      const terms = { personId: person.id, email: person.email, createdBy: "system" };
      const url = await database.transaction((tx) => makeResetLink(tx, context, terms));
      mailer.send(resetMail(person.email, url));
      return;
    }
    const { url } = await makeLink(database, context, { kind: "verify", email, mailed: true, createdBy: "system", hours: SIGN_UP_HOURS });
    mailer.send(verifyMail(email, url));
  })().catch((error: unknown) => context.emit("mail_failed", { subject: "Confirm your mail address", error }));
}

/** Makes the account of a person who has proven their address, with a workspace on the plan Free. */
export async function takeSignUp(context: PeopleContext, request: FastifyRequest, link: LinkRow, fields: TakeLink): Promise<OpenedSession> {
  const { database, sessions, passwords, ids } = context;
  const email = link.email ?? "";
  const name = given(fields, "name").trim();
  const passwordHash = await passwords.hash(networkOfRequest(context, request), given(fields, "password"));
  return database.transaction(async (tx) => {
    if (!(await deleteLink(tx, link.id))) throw linkNotFound();
    const id = ids.next() as PersonId;
    const inserted = await insertPerson(tx, { id, name, email, passwordHash, operator: false, verified: true });
    if (!inserted) throw signInRequired();
    await makeOwnWorkspace(tx, context, id, `${name.slice(0, 100)}'s workspace`);
    const opened = await sessions.open(tx, request, { id, version: inserted.version }, "link");
    if (!opened) throw linkNotFound();
    return opened;
  });
}

import type { PatchProfile } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { problem } from "#kernel";
import { normalizeEmail } from "./email.ts";
import { makeLink } from "./links/make-link.ts";
import { verifyMail } from "./mails.ts";
import type { PeopleContext } from "./people-context.ts";
import { findPersonByEmail, updateEmail, updateName } from "./person-store.ts";
import { requireConfirmed } from "./second-factors/require-confirmed.ts";
import type { SessionRow } from "./sessions/session-store.ts";
import { throttle } from "./sessions/throttle.ts";

const VERIFY_HOURS = 24;

/**
 * Changes the name and the mail address of a person who is signed in. If mail is sent, an address changes when its owner has opened a link
 * that is sent to it. Otherwise it changes immediately, and nobody knows whether it is theirs.
 *
 * @throws FORBIDDEN to change the address without having confirmed; CONFLICT for an address that is taken
 */
export async function changeProfile(context: PeopleContext, request: FastifyRequest, { name, email }: PatchProfile): Promise<void> {
  const { database, sessions } = context;
  const session = await sessions.require(request);
  if (email !== undefined) await changeEmail(context, request, session, normalizeEmail(email));
  if (name !== undefined) await updateName(database, session.personId, name.trim());
}

async function changeEmail(context: PeopleContext, request: FastifyRequest, session: SessionRow, email: string): Promise<void> {
  const { database, mailer, account } = context;
  const { personId } = session;
  if (email === session.email && (session.emailVerified || !mailer)) return;
  requireConfirmed(session);
  await throttle(database, { proof: personId, resetTo: `verify ${email}` });
  if (!mailer) {
    return database.transaction(async (tx) => {
      if (!(await updateEmail(tx, personId, email, false))) throw emailTaken();
      await account.record(tx, request, personId, "email.changed", email);
    });
  }
  const owner = await findPersonByEmail(database, email);
  // The caller must not learn that somebody has this address.
  if (owner && owner.id !== personId) return;
  const createdBy = "system";
  const { url } = await makeLink(database, context, { kind: "verify", personId, email, mailed: true, createdBy, hours: VERIFY_HOURS });
  mailer.send(verifyMail(email, url));
}

const emailTaken = () => problem("CONFLICT", {}, { message: "There is already a person with this mail address." });

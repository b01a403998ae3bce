import type { FastifyRequest } from "fastify";
import { normalizeEmail } from "../email.ts";
import { resetMail } from "../mails.ts";
import type { PeopleContext } from "../people-context.ts";
import { findPersonByEmail } from "../person-store.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import { throttle } from "../sessions/throttle.ts";
import { makeResetLink } from "./reset.ts";

/** Sends a link with which a person sets a new password. Does the same for an address that nobody has, as far as the sender can see. */
export async function requestReset(context: PeopleContext, request: FastifyRequest, given: string): Promise<void> {
  const { database, mailer } = context;
  const email = normalizeEmail(given);
  await throttle(database, { resetAddress: networkOfRequest(context, request), resetTo: email });
  if (!mailer) return;
  // Not awaited: its duration would reveal whether there is such a person.
  void (async () => {
    const person = await findPersonByEmail(database, email);
    if (!person) return;
    const url = await database.transaction((tx) =>
      makeResetLink(tx, context, { personId: person.id, email: person.email, createdBy: "system" }),
    );
    mailer.send(resetMail(person.email, url));
  })().catch((error: unknown) => context.emit("mail_failed", { subject: "Set a new password", error }));
}

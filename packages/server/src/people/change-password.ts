import type { ChangePassword } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { deleteLinksOf } from "./links/link-store.ts";
import type { PeopleContext } from "./people-context.ts";
import { updatePassword } from "./person-store.ts";
import { requireConfirmed } from "./second-factors/require-confirmed.ts";
import { networkOfRequest } from "./sessions/client-address.ts";
import { deleteSessions } from "./sessions/session-store.ts";
import { notSignedIn, type OpenedSession } from "./sessions/sessions.ts";
import { verifyPassword } from "./verify-password.ts";

/**
 * Changes the password of a person who is signed in, or gives them one. All their sessions end except the one of the request, which gets a
 * new token.
 *
 * @throws FORBIDDEN when the old password is wrong, or when they have none and have not confirmed who they are; RATE_LIMITED
 */
export async function changePassword(
  context: PeopleContext,
  request: FastifyRequest,
  { password, new_password }: ChangePassword,
): Promise<OpenedSession> {
  const { database, passwords, sessions, account } = context;
  const session = await sessions.require(request);
  const takeBack = session.hasPassword ? await verifyPassword(context, request, session, password) : requireConfirmed(session);
  const hash = await passwords.hash(networkOfRequest(context, request), new_password);
  const opened = await database.transaction(async (tx) => {
    const updated = await updatePassword(tx, session.personId, hash, session.version);
    if (!updated) throw notSignedIn();
    await deleteLinksOf(tx, session.personId);
    await account.record(tx, request, session.personId, "password.changed");
    const renewed = await sessions.renew(tx, session, updated.version);
    if (!renewed) throw notSignedIn();
    await deleteSessions(tx, session.personId, renewed.id);
    return renewed;
  });
  await takeBack?.();
  context.onPersonChanged(session.personId);
  return opened;
}

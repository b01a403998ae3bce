import type { Confirm } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { problem } from "#kernel";
import type { PeopleContext } from "../people-context.ts";
import { notSignedIn, type OpenedSession } from "../sessions/sessions.ts";
import { verifyPassword } from "../verify-password.ts";
import { verifyPasskey } from "./passkeys.ts";
import { takeCode, wrongCode } from "./totp.ts";

/**
 * A person who is signed in proves again who they are, for the next ten minutes. Their session gets a new token.
 *
 * @throws FORBIDDEN when the proof is wrong; RATE_LIMITED
 */
export async function confirm(
  context: PeopleContext,
  request: FastifyRequest,
  { password, code, passkey }: Confirm,
): Promise<OpenedSession> {
  const session = await context.sessions.require(request);
  let takeBack: (() => Promise<unknown>) | null = null;
  if (passkey !== undefined) {
    const proven = await verifyPasskey(context, request, { response: passkey });
    if (proven.id !== session.personId) throw problem("FORBIDDEN", {}, { message: "This passkey is another person's." });
  } else if (code !== undefined) {
    if (!(await takeCode(context, request, session.personId, code))) throw wrongCode();
  } else takeBack = await verifyPassword(context, request, session, password);
  const renewed = await context.database.transaction((tx) => context.sessions.renew(tx, session));
  if (!renewed) throw notSignedIn();
  await takeBack?.();
  return renewed;
}

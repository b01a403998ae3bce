import type { Confirm } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { PeopleContext } from "./people-context.ts";
import { provePassword } from "./prove.ts";
import { notSignedIn, type OpenedSession } from "./sessions.ts";

/**
 * Somebody who is signed in proves again that it is them, for the next ten minutes. Their session gets another token.
 *
 * @throws FORBIDDEN when the proof is wrong; RATE_LIMITED
 */
export async function confirm(context: PeopleContext, request: FastifyRequest, { password }: Confirm): Promise<OpenedSession> {
  const session = await context.sessions.require(request);
  const takeBack = await provePassword(context, session, password);
  const renewed = await context.database.transaction((tx) => context.sessions.renew(tx, session));
  if (!renewed) throw notSignedIn();
  await takeBack();
  return renewed;
}

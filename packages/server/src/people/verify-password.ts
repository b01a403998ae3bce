import type { FastifyRequest } from "fastify";
import { invalid, problem } from "#kernel";
import type { PeopleContext } from "./people-context.ts";
import { findCredentialsById } from "./person-store.ts";
import { networkOfRequest } from "./sessions/client-address.ts";
import type { SessionRow } from "./sessions/session-store.ts";
import { throttle } from "./sessions/throttle.ts";

/**
 * Verifies the password of a person who is signed in.
 *
 * @returns a function that takes the try back
 * @throws FORBIDDEN when it is wrong; RATE_LIMITED
 */
export async function verifyPassword(
  context: PeopleContext,
  request: FastifyRequest,
  session: SessionRow,
  password: string | undefined,
): Promise<() => Promise<unknown>> {
  const { database, passwords } = context;
  if (password === undefined) throw invalid("password", "is required");
  const takeBack = await throttle(database, { proof: session.personId });
  const credentials = await findCredentialsById(database, session.personId);
  if (
    !(await passwords.verify(networkOfRequest(context, request), password, credentials?.passwordHash ?? null)) ||
    credentials?.version !== session.version
  ) {
    throw problem("FORBIDDEN", {}, { message: "The password is wrong." });
  }
  return takeBack;
}

import type { SignIn } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { problem } from "#kernel";
import { normalizeEmail } from "./email.ts";
import type { PeopleContext } from "./people-context.ts";
import { findCredentials } from "./person-store.ts";
import type { OpenedSession } from "./sessions.ts";

/**
 * Signs a person in by their password. A wrong address takes as long as a wrong password, and gets the same answer.
 *
 * @throws UNAUTHORIZED
 */
export async function signIn(context: PeopleContext, request: FastifyRequest, { email, password }: SignIn): Promise<OpenedSession> {
  const { database, passwords, sessions } = context;
  const found = await findCredentials(database, normalizeEmail(email));
  if (!(await passwords.verify(password, found?.passwordHash ?? null)) || !found) throw wrongPassword();
  const opened = await database.transaction((tx) => sessions.open(tx, request, found, "password"));
  // The password was changed meanwhile.
  if (!opened) throw wrongPassword();
  return opened;
}

const wrongPassword = () => problem("UNAUTHORIZED", {}, { message: "The mail address or the password is wrong." });

import type { SignIn } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import { problem } from "#kernel";
import { normalizeEmail } from "../email.ts";
import type { PeopleContext } from "../people-context.ts";
import { findCredentials } from "../person-store.ts";
import { takeCode } from "../second-factors/totp.ts";
import { findTotp } from "../second-factors/totp-store.ts";
import { networkOf } from "./client-address.ts";
import type { OpenedSession } from "./sessions.ts";
import { throttle } from "./throttle.ts";

/**
 * Signs a person in with their password. A wrong address takes as long as a wrong password, and gets the same response.
 *
 * @throws UNAUTHORIZED, RATE_LIMITED
 */
export async function signIn(context: PeopleContext, request: FastifyRequest, given: SignIn): Promise<OpenedSession> {
  const { database, passwords, sessions, account, devices, clientAddress, emit } = context;
  const email = normalizeEmail(given.email);
  const address = clientAddress(request);
  const network = networkOf(address);
  const device = await devices.find(database, request, email);
  const limits = device
    ? { signInDevice: `${device} ${email}` }
    : { signInAddress: network, signInFrom: `${network} ${email}`, signInTo: email };
  const takeBack = await throttle(database, limits);
  const found = await findCredentials(database, email);
  const isRight = await passwords.verify(network, given.password, found?.passwordHash ?? null);
  if (isRight && found && (await findTotp(database, found.id))?.enabled) {
    if (given.code === undefined) throw codeRequired("A code of your authenticator is required, too.");
    if (!(await takeCode(context, request, found.id, given.code))) {
      await account.record(database, request, found.id, "code.refused");
      emit("sign_in_refused", { address });
      throw codeRequired("The code is wrong, or was already used.");
    }
  }
  const opened = isRight && found && (await database.transaction((tx) => sessions.open(tx, request, found, "password")));
  // The password was right, but there is no session: the password was changed in the meantime.
  if (!opened) {
    emit("sign_in_refused", { address });
    throw problem("UNAUTHORIZED", {}, { message: "The mail address or the password is wrong." });
  }
  await takeBack();
  return opened;
}

const codeRequired = (message: string) => problem("UNAUTHORIZED", { code_required: true }, { message });

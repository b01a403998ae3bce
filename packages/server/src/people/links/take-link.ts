import type { TakeLink } from "@tidemill/contract";
import type { FastifyRequest } from "fastify";
import type { PeopleContext } from "../people-context.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import type { OpenedSession } from "../sessions/sessions.ts";
import { throttle } from "../sessions/throttle.ts";
import { takeSignUp } from "../sign-up.ts";
import { findLink } from "./links.ts";
import { takeInvitation } from "./take-invitation.ts";
import { takeReset } from "./take-reset.ts";
import { takeSetup } from "./take-setup.ts";
import { takeVerification } from "./take-verification.ts";

const TAKE = { setup: takeSetup, invitation: takeInvitation, reset: takeReset, verify: takeVerification };

/**
 * Uses a link, once.
 *
 * @returns the session that it opens, if any
 * @throws NOT_FOUND for a link that cannot be used, or not any more; VALIDATION_ERROR for missing fields; others depending on its kind
 */
export async function takeLink(
  context: PeopleContext,
  request: FastifyRequest,
  token: string,
  fields: TakeLink,
): Promise<OpenedSession | null> {
  await throttle(context.database, { link: networkOfRequest(context, request) });
  const link = await findLink(context.database, token);
  if (link.kind === "verify" && link.personId === null) return takeSignUp(context, request, link, fields);
  return TAKE[link.kind](context, request, link, fields);
}

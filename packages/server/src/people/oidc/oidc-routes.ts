import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { Api } from "#http";
import type { PersonId } from "#kernel";
import { type PeopleContext, pageUrl } from "../people-context.ts";
import { config, hidden } from "../route-parts.ts";
import { putChallenge, takeChallenge } from "../second-factors/challenge-store.ts";
import { requireConfirmed } from "../second-factors/require-confirmed.ts";
import { networkOfRequest } from "../sessions/client-address.ts";
import { throttle } from "../sessions/throttle.ts";
import { makeToken } from "../sessions/token.ts";
import type { Asked, IdentityProvider } from "./identity-provider.ts";
import { linkIdentity, type OidcRules, signInByClaims } from "./oidc-sign-in.ts";

const PURPOSE = "oidc";
/** The relative path from `/dashboard/auth/oidc/…` to `/dashboard/`, which works with any prefix. */
const TO_PAGES = "../../";

const StartQuery = Type.Object(
  { next: Type.Optional(Type.String({ maxLength: 2_000 })), link: Type.Optional(Type.Literal("1")) },
  { additionalProperties: false },
);

interface About extends Asked {
  readonly next: string;
}

/** Signing in with an identity provider. Source: contract §13. */
export function mountOidc(api: Api, context: PeopleContext, provider: IdentityProvider, rules: OidcRules): void {
  const { database, sessions, random, stateCookie } = context;
  const redirectUri = () => pageUrl(context, "auth/oidc/callback");

  api.get("/dashboard/auth/oidc/start", { config, schema: hidden({ querystring: StartQuery }) }, async (request, reply) => {
    await throttle(database, { signInAddress: networkOfRequest(context, request) });
    const { next = "", link } = request.query;
    const personId = link === undefined ? null : await confirmedPerson(request);
    const asked = { state: makeToken(random), nonce: makeToken(random), verifier: makeToken(random) };
    const url = await provider.askAt(asked, redirectUri());
    await putChallenge(database, PURPOSE, asked.state, personId, JSON.stringify({ ...asked, next }));
    // A response counts only in the browser that made the request, so that nobody can sign another person in to their own account.
    stateCookie.set(reply, asked.state);
    return reply.redirect(url, 303);
  });

  api.get("/dashboard/auth/oidc/callback", { config: { ...config, fromAnySite: true }, schema: hidden({}) }, async (request, reply) => {
    const answeredAt = new URL(redirectUri());
    answeredAt.search = new URL(request.url, answeredAt).search;
    const state = stateCookie.read(request);
    stateCookie.clear(reply);
    const challenge =
      state !== null && state === answeredAt.searchParams.get("state") ? await takeChallenge(database, PURPOSE, state) : null;
    if (!challenge) return failed(reply, "expired");
    const about = JSON.parse(challenge.about ?? "{}") as About;
    const claims = await provider.claimsOf(about, answeredAt).catch((error: unknown) => {
      context.emit("oidc_failed", { error });
      return null;
    });
    if (claims === null) return failed(reply, "refused");
    if (challenge.personId !== null) return linked(request, reply, challenge.personId, claims);
    const opened = await signInByClaims(context, request, claims, rules);
    if (typeof opened === "string") return failed(reply, opened);
    opened.setCookie(reply);
    return reply.redirect(TO_PAGES + pathIn(about.next), 303);
  });

  async function linked(request: FastifyRequest, reply: FastifyReply, personId: PersonId, claims: Parameters<typeof linkIdentity>[3]) {
    const session = await sessions.find(request);
    if (session?.personId !== personId) return failed(reply, "linked_elsewhere");
    const person = { id: personId, version: session.version };
    if (!(await linkIdentity(context, request, person, claims))) return failed(reply, "linked_elsewhere");
    return reply.redirect(`${TO_PAGES}account`, 303);
  }

  async function confirmedPerson(request: FastifyRequest): Promise<PersonId> {
    const session = await sessions.require(request);
    requireConfirmed(session);
    return session.personId;
  }
}

/** A path of the pages, from a text that may be anything. */
const pathIn = (next: string): string => (/^[\x21-\x7e]*$/.test(next) ? next.replace(/^[/\\]+/, "") : "");

const failed = (reply: FastifyReply, reason: string) => reply.redirect(`${TO_PAGES}sign-in?refused=${reason}`, 303);

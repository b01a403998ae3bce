import { Confirm, type Link, LinkPath, RequestReset, type Session, SignIn, TakeLink } from "@tidemill/contract";
import type { Api } from "#http";
import { showWorkspaceId } from "#workspaces";
import { findLink } from "./links/links.ts";
import { requestReset } from "./links/request-reset.ts";
import { takeLink } from "./links/take-link.ts";
import type { PeopleContext } from "./people-context.ts";
import { config, empty, hidden } from "./route-parts.ts";
import { confirm } from "./second-factors/confirm.ts";
import { relyingPartyOf } from "./second-factors/relying-party.ts";
import { networkOfRequest } from "./sessions/client-address.ts";
import { showSession } from "./sessions/show-session.ts";
import { signIn } from "./sessions/sign-in.ts";
import { throttle } from "./sessions/throttle.ts";
import { requestSignUp } from "./sign-up.ts";

/** Signing in and out, and links that are used once. Source: contract §13. */
export function mountAuth(api: Api, context: PeopleContext, howToSignIn: Omit<Session["sign_in"], "passkeys">): void {
  const { database, sessions } = context;

  api.get("/dashboard/auth/session", { config, schema: hidden({}) }, async (request) =>
    showSession(database, await sessions.find(request), {
      ...howToSignIn,
      passkeys: relyingPartyOf(request, context.publicUrl) !== null,
    }),
  );

  api.post("/dashboard/auth/sign-in", { config, schema: hidden({ body: SignIn }) }, async (request, reply) => {
    const opened = await signIn(context, request, request.body);
    opened.setCookie(reply);
    return empty(reply);
  });

  api.post("/dashboard/auth/sign-out", { config, schema: hidden({}) }, async (request, reply) => {
    await sessions.end(request, reply);
    return empty(reply);
  });

  api.post("/dashboard/auth/confirm", { config, schema: hidden({ body: Confirm }) }, async (request, reply) => {
    const opened = await confirm(context, request, request.body);
    opened.setCookie(reply);
    return empty(reply);
  });

  api.post("/dashboard/auth/reset", { config, schema: hidden({ body: RequestReset }) }, async (request, reply) => {
    await requestReset(context, request, request.body.email);
    return empty(reply);
  });

  api.post("/dashboard/auth/sign-up", { config, schema: hidden({ body: RequestReset }) }, async (request, reply) => {
    await requestSignUp(context, request, request.body.email);
    return empty(reply);
  });

  api.get("/dashboard/auth/links/:token", { config, schema: hidden({ params: LinkPath }) }, async (request): Promise<Link> => {
    await throttle(database, { link: networkOfRequest(context, request) });
    const { kind, email, role, personId, workspaceId, workspaceName, expiresAt } = await findLink(database, request.params.token);
    const workspace = workspaceId && workspaceName !== null ? { id: showWorkspaceId(workspaceId), name: workspaceName } : null;
    return { kind, email, workspace, role, new_account: kind === "verify" && personId === null, expires_at: expiresAt };
  });

  api.post("/dashboard/auth/links/:token", { config, schema: hidden({ params: LinkPath, body: TakeLink }) }, async (request, reply) => {
    const opened = await takeLink(context, request, request.params.token, request.body);
    opened?.setCookie(reply);
    return empty(reply);
  });
}

import { Confirm, type Link, LinkPath, RequestReset, type Session, SignIn, TakeLink } from "@tidemill/contract";
import type { Api } from "#http";
import { showWorkspaceId } from "#workspaces";
import { networkOfRequest } from "./client-address.ts";
import { confirm } from "./confirm.ts";
import { findLink } from "./links.ts";
import type { PeopleContext } from "./people-context.ts";
import { relyingPartyOf } from "./relying-party.ts";
import { requestReset } from "./request-reset.ts";
import { config, empty, hidden } from "./route-parts.ts";
import { showSession } from "./show-session.ts";
import { signIn } from "./sign-in.ts";
import { requestSignUp } from "./sign-up.ts";
import { takeLink } from "./take-link.ts";
import { throttle } from "./throttle.ts";

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

import { type Link, LinkPath, type Session, SignIn, TakeLink } from "@tidemill/contract";
import type { FastifyReply } from "fastify";
import type { Api } from "#http";
import { notFound } from "#kernel";
import { showWorkspaceId } from "#workspaces";
import type { PeopleContext } from "./people-context.ts";
import { showSession } from "./show-session.ts";
import { signIn } from "./sign-in.ts";
import { findLink, takeLink } from "./take-link.ts";

/** For pages only, so they are not in the API document. */
const hide = true;
const config = { page: true };

/** Signing in and out. Source: contract §13. */
export function mountAuth(api: Api, context: PeopleContext, howToSignIn: Session["sign_in"]): void {
  const { database, sessions } = context;

  api.get("/dashboard/auth/session", { config, schema: { hide } as object }, async (request) =>
    showSession(database, await sessions.find(request), howToSignIn),
  );

  api.post("/dashboard/auth/sign-in", { config, schema: { hide, body: SignIn } as { body: typeof SignIn } }, async (request, reply) => {
    const opened = await signIn(context, request, request.body);
    opened.setCookie(reply);
    return empty(reply);
  });

  api.post("/dashboard/auth/sign-out", { config, schema: { hide } as object }, async (request, reply) => {
    await sessions.end(request, reply);
    return empty(reply);
  });

  api.get(
    "/dashboard/auth/links/:token",
    { config, schema: { hide, params: LinkPath } as { params: typeof LinkPath } },
    async (request): Promise<Link> => {
      const { kind, email, role, workspaceId, workspaceName, expiresAt } = await findLink(database, request.params.token);
      const workspace = workspaceId && workspaceName !== null ? { id: showWorkspaceId(workspaceId), name: workspaceName } : null;
      return { kind, email, workspace, role, expires_at: expiresAt };
    },
  );

  api.post(
    "/dashboard/auth/links/:token",
    { config, schema: { hide, params: LinkPath, body: TakeLink } as { params: typeof LinkPath; body: typeof TakeLink } },
    async (request, reply) => {
      const opened = await takeLink(context, request, request.params.token, request.body);
      opened.setCookie(reply);
      return empty(reply);
    },
  );

  // What is no request of a page to the API (`rewritePageUrl`) is nothing at all, and no page either.
  for (const url of ["/dashboard/api", "/dashboard/api/*", "/dashboard/auth", "/dashboard/auth/*"]) {
    api.get(url, { config, schema: { hide } as object }, ({ method, url: path }) => {
      throw notFound({ resource: "route", method, path: path.split("?")[0] ?? "", suggestion: null });
    });
  }
}

const empty = (reply: FastifyReply): FastifyReply => reply.code(204).send();

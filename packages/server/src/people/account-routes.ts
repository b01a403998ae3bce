import { ChangePassword, OwnNewWorkspace, type OwnSession, PatchProfile, SessionPath } from "@tidemill/contract";
import type { Api } from "#http";
import { notFound, typeId, uuidOf } from "#kernel";
import { changePassword } from "./change-password.ts";
import { changeProfile } from "./change-profile.ts";
import { endOpenCalls } from "./end-sessions.ts";
import { addOwnWorkspace } from "./own-workspaces.ts";
import type { PeopleContext } from "./people-context.ts";
import { config, empty, hidden } from "./route-parts.ts";
import { deleteSession, deleteSessions, listSessions } from "./session-store.ts";

/** A person's own account: profile, password, sessions. Source: contract §13. */
export function mountAccount(api: Api, context: PeopleContext): void {
  const { database, sessions } = context;

  api.patch("/dashboard/auth/profile", { config, schema: hidden({ body: PatchProfile }) }, async (request, reply) => {
    await changeProfile(context, request, request.body);
    return empty(reply);
  });

  api.post("/dashboard/auth/password", { config, schema: hidden({ body: ChangePassword }) }, async (request, reply) => {
    const opened = await changePassword(context, request, request.body);
    opened.setCookie(reply);
    return empty(reply);
  });

  api.post("/dashboard/auth/workspaces", { config, schema: hidden({ body: OwnNewWorkspace }) }, async (request, reply) => {
    const { personId } = await sessions.require(request);
    return reply.code(201).send(await addOwnWorkspace(context, personId, request.body));
  });

  api.get("/dashboard/auth/sessions", { config, schema: hidden({}) }, async (request): Promise<{ data: OwnSession[] }> => {
    const { personId, version, sessionId } = await sessions.require(request);
    const found = await listSessions(database, personId, version);
    return { data: found.map(({ id, ...session }) => ({ id: typeId("ses", id), current: id === sessionId, ...session })) };
  });

  api.delete("/dashboard/auth/sessions", { config, schema: hidden({}) }, async (request, reply) => {
    const { personId, sessionId } = await sessions.require(request);
    await deleteSessions(database, personId, sessionId);
    await endOpenCalls(database, context, personId);
    return empty(reply);
  });

  api.delete("/dashboard/auth/sessions/:id", { config, schema: hidden({ params: SessionPath }) }, async (request, reply) => {
    const { personId } = await sessions.require(request);
    const id = uuidOf("ses", request.params.id);
    if (!id || !(await deleteSession(database, personId, id))) throw notFound({ resource: "session", id: request.params.id });
    await endOpenCalls(database, context, personId);
    return empty(reply);
  });
}

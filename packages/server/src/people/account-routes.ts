import {
  type AccountEvent,
  ChangePassword,
  ListAccountEvents,
  OwnNewWorkspace,
  type OwnSession,
  PatchProfile,
  SessionPath,
} from "@tidemill/contract";
import { type Api, nextPage, readPage } from "#http";
import { notFound, typeId, uuidOf } from "#kernel";
import { listAccountEvents } from "./account-event-store.ts";
import { showAccountEvent } from "./account-log.ts";
import { changePassword } from "./change-password.ts";
import { changeProfile } from "./change-profile.ts";
import { addOwnWorkspace } from "./own-workspaces.ts";
import type { PeopleContext } from "./people-context.ts";
import { keepPerson } from "./person-store.ts";
import { config, empty, hidden } from "./route-parts.ts";
import { deleteSession, deleteSessions, listSessions } from "./sessions/session-store.ts";

/** A person's own account: profile, password, sessions. Source: contract §13. */
export function mountAccount(api: Api, context: PeopleContext): void {
  const { database, sessions, account } = context;

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
    await database.transaction(async (tx) => {
      await account.record(tx, request, personId, "sessions.ended");
      await deleteSessions(tx, personId, sessionId);
    });
    context.onPersonChanged(personId);
    return empty(reply);
  });

  api.delete("/dashboard/auth/sessions/:id", { config, schema: hidden({ params: SessionPath }) }, async (request, reply) => {
    const { personId } = await sessions.require(request);
    const id = uuidOf("ses", request.params.id);
    await database.transaction(async (tx) => {
      await keepPerson(tx, personId);
      const ended = id && (await deleteSession(tx, personId, id));
      if (!ended) throw notFound({ resource: "session", id: request.params.id });
      await account.record(tx, request, personId, "session.ended", [ended.address, ended.user_agent].filter(Boolean).join(", "));
    });
    context.onPersonChanged(personId);
    return empty(reply);
  });

  api.get(
    "/dashboard/auth/events",
    { config, schema: hidden({ querystring: ListAccountEvents }) },
    async (request): Promise<{ data: AccountEvent[]; next_cursor: string | null }> => {
      const { personId } = await sessions.require(request);
      const page = readPage(request.query, (cursor) => uuidOf("acc", cursor));
      const found = await listAccountEvents(database, personId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => typeId("acc", id));
      return { data: rows.map(showAccountEvent), next_cursor: nextCursor };
    },
  );
}

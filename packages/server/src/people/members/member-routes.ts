import {
  AddMember,
  CreatedInvitation,
  CreateInvitation,
  Invitation,
  InvitationPath,
  ListInvitations,
  ListMembers,
  Member,
  MemberPath,
  Page,
  PatchMember,
} from "@tidemill/contract";
import { requestActor } from "#audit";
import { type Api, nextPage, noContent, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { type Tenants, typeId } from "#kernel";
import { invite, pageOfInvitations, revokeInvitation } from "../links/invitations.ts";
import type { PeopleContext } from "../people-context.ts";
import { addMember, memberNotFound, patchMember, readPersonId, removeMember, showMember } from "./members.ts";
import { listMembers } from "./membership-store.ts";

export interface MemberRoutes {
  readonly tenants: Tenants;
  readonly context: PeopleContext;
}

const defaults = routeDefaults("Members");

/** A person who may read members may also change them, after confirming who they are. */
const read = { access: "admin" } as const;
const change = { access: "admin", confirm: true } as const;

/** The people of a workspace. Source: contract §13. */
export function mountMembers(api: Api, { tenants, context }: MemberRoutes): void {
  api.get(
    "/v1/members",
    {
      config: read,
      schema: {
        ...defaults,
        summary: "List members",
        description: "Returns the people who belong to the workspace, those with the newest accounts first.",
        operationId: "listMembers",
        querystring: ListMembers,
        response: replies({ 200: Page(Member) }),
      },
    },
    async (request) => {
      const page = readPage(request.query, readPersonId);
      const workspaceId = workspaceOf(request);
      const found = await listMembers(tenants.of(workspaceId), workspaceId, page.after, page.limit + 1);
      const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => typeId("usr", id));
      return { data: rows.map(showMember), next_cursor: nextCursor };
    },
  );

  api.post(
    "/v1/members",
    {
      config: change,
      schema: {
        ...defaults,
        summary: "Add a member",
        description:
          "Adds a person who has an account on this service, by their id. Only people who are signed in can do this, for people that they " +
          "administer in another workspace; operators can add anybody. Others are not found. Keys are refused: use an invitation instead.",
        operationId: "addMember",
        body: AddMember,
        response: replies({ 201: Member }, "NOT_FOUND", "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      return reply
        .code(201)
        .send(await addMember(tenants.of(actor.workspaceId), context, actor, request.person, request.body, api.lockAccess(request)));
    },
  );

  api.patch(
    "/v1/members/:id",
    {
      config: change,
      schema: {
        ...defaults,
        summary: "Change a member's role",
        description: "Changes what a person may do in the workspace, immediately. The last admin keeps their role.",
        operationId: "updateMember",
        params: MemberPath,
        body: PatchMember,
        response: replies({ 200: Member }, "NOT_FOUND", "INVALID_STATE", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const actor = requestActor(request);
      const personId = personIn(request.params);
      const member = await patchMember(tenants.of(actor.workspaceId), context, actor, personId, request.body.role, api.lockAccess(request));
      context.onPersonChanged(personId);
      return member;
    },
  );

  api.delete(
    "/v1/members/:id",
    {
      config: change,
      schema: {
        ...defaults,
        summary: "Remove a member",
        description: "Removes a person from the workspace, immediately. Their account stays. The last admin cannot be removed.",
        operationId: "removeMember",
        params: MemberPath,
        response: replies({ 204: noContent("The person no longer belongs to the workspace.") }, "NOT_FOUND", "INVALID_STATE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      const personId = personIn(request.params);
      await removeMember(tenants.of(actor.workspaceId), context, actor, personId, api.lockAccess(request));
      context.onPersonChanged(personId);
      return reply.code(204).send();
    },
  );

  api.get(
    "/v1/invitations",
    {
      config: read,
      schema: {
        ...defaults,
        summary: "List invitations",
        description: "Returns the invitations that can still be accepted, newest first. The response does not contain their URLs.",
        operationId: "listInvitations",
        querystring: ListInvitations,
        response: replies({ 200: Page(Invitation) }),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      return pageOfInvitations(tenants.of(workspaceId), workspaceId, request.query);
    },
  );

  api.post(
    "/v1/invitations",
    {
      config: change,
      schema: {
        ...defaults,
        summary: "Invite somebody",
        description:
          "Makes an invitation to the workspace, with a role. It can be accepted once, within 72 hours. Only this response contains its " +
          "URL. With `email`, only a person with that address can accept it, and the URL is also sent there if the service sends mail.",
        operationId: "createInvitation",
        body: CreateInvitation,
        response: replies({ 201: CreatedInvitation }, "CONFLICT", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      return reply.code(201).send(await invite(tenants.of(actor.workspaceId), context, actor, request.body, api.lockAccess(request)));
    },
  );

  api.delete(
    "/v1/invitations/:id",
    {
      config: change,
      schema: {
        ...defaults,
        summary: "Revoke an invitation",
        description: "Revokes an invitation, which can no longer be accepted.",
        operationId: "revokeInvitation",
        params: InvitationPath,
        response: replies({ 204: noContent("The invitation can no longer be accepted.") }, "NOT_FOUND"),
      },
    },
    async (request, reply) => {
      const actor = requestActor(request);
      await revokeInvitation(tenants.of(actor.workspaceId), context, actor, request.params.id);
      return reply.code(204).send();
    },
  );
}

function personIn({ id }: { id: string }) {
  const personId = readPersonId(id);
  if (!personId) throw memberNotFound(id);
  return personId;
}

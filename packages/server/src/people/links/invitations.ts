import type { CreatedInvitation, CreateInvitation, Invitation, ListInvitations } from "@tidemill/contract";
import type { Actor } from "#audit";
import { type LockAccess, nextPage, readPage } from "#http";
import { type Db, notFound, type PersonId, problem, type Transactional, typeId, type Uuid, uuidOf, type WorkspaceId } from "#kernel";
import type { AdminContext } from "#workspaces";
import { normalizeEmail } from "../email.ts";
import { invitationMail } from "../mails.ts";
import { isMemberByEmail } from "../members/membership-store.ts";
import type { PeopleContext } from "../people-context.ts";
import { throttle } from "../sessions/throttle.ts";
import {
  deleteInvitation,
  deleteInvitationsBy,
  type InvitationRow,
  listInvitations,
  listInvitedToAcrossWorkspaces,
} from "./invitation-store.ts";
import { makeLink } from "./make-link.ts";
import { LINK_HOURS } from "./setup-link.ts";

export const showInvitation = ({ id, ...invitation }: InvitationRow): Invitation => ({ id: typeId("inv", id), ...invitation });

const readInvitationId = (text: string): Uuid | null => uuidOf("inv", text);

/**
 * Invites a person to a workspace. The person who invites sees the URL, so using it proves nothing about the mail address.
 *
 * @param hold makes sure that the sender is still allowed to do this. The change that ends their right also revokes this invitation
 * @throws CONFLICT when there is a member with that address; RATE_LIMITED
 */
export async function invite(
  database: Transactional,
  context: PeopleContext,
  { workspaceId, actorId }: Actor,
  { role, email: given = null }: CreateInvitation,
  hold: LockAccess,
): Promise<CreatedInvitation> {
  const email = given === null ? null : normalizeEmail(given);
  await throttle(context.database, { invitationOf: workspaceId, ...(email !== null && context.mailer && { invitationTo: email }) });
  const { id, url, createdAt, expiresAt } = await database.transaction(async (tx) => {
    await hold(tx);
    if (email !== null && (await isMemberByEmail(tx, workspaceId, email))) {
      throw problem("CONFLICT", { email }, { message: "There is a member with this mail address." });
    }
    const link = await makeLink(tx, context, { kind: "invitation", workspaceId, role, email, createdBy: actorId, hours: LINK_HOURS });
    await context.audit.record(tx, {
      workspaceId,
      eventType: "invitation.created",
      actorId,
      resourceType: "invitation",
      resourceId: typeId("inv", link.id),
      input: { role, email },
      output: null,
    });
    return link;
  });
  const mailed = email !== null && (context.mailer?.send(invitationMail(email, url)) ?? false);
  const shown = { id: typeId("inv", id), role, email, created_by: actorId, created_at: createdAt, expires_at: expiresAt };
  return { ...shown, url, mailed };
}

/** A page of the invitations to a workspace that can still be accepted, newest first. Their URLs are not stored. */
export async function pageOfInvitations(db: Db, workspaceId: WorkspaceId, query: ListInvitations) {
  const page = readPage(query, readInvitationId);
  const found = await listInvitations(db, workspaceId, page.after, page.limit + 1);
  const { rows, nextCursor } = nextPage(found, page.limit, ({ id }) => typeId("inv", id));
  return { data: rows.map(showInvitation), next_cursor: nextCursor };
}

/** @throws NOT_FOUND for an invitation that does not exist, was accepted, or has expired */
export const revokeInvitation = (
  database: Transactional,
  { audit }: Pick<PeopleContext, "audit">,
  { workspaceId, actorId }: Actor,
  named: string,
): Promise<void> =>
  database.transaction(async (tx) => {
    const id = readInvitationId(named);
    const deleted = id && (await deleteInvitation(tx, workspaceId, id));
    if (!deleted) throw notFound({ resource: "invitation", id: named });
    await auditRevoked(tx, audit, { workspaceId, actorId }, deleted);
  });

/** Revokes the invitations of an actor who may no longer invite: with one of them, the actor could come back. */
export async function revokeInvitationsBy(tx: Db, audit: AdminContext["audit"], actor: Actor, createdBy: string): Promise<void> {
  for (const deleted of await deleteInvitationsBy(tx, actor.workspaceId, createdBy)) await auditRevoked(tx, audit, actor, deleted);
}

/** Revokes the invitations that a person made as an operator, which they no longer are. The person and the workspaces must be locked. */
export async function revokeOperatorInvitations(tx: Db, audit: AdminContext["audit"], personId: PersonId, actorId: string): Promise<void> {
  for (const workspaceId of await listInvitedToAcrossWorkspaces(tx, personId))
    await revokeInvitationsBy(tx, audit, { workspaceId, actorId }, typeId("usr", personId));
}

const auditRevoked = (
  tx: Db,
  audit: AdminContext["audit"],
  { workspaceId, actorId }: Actor,
  { id, role, email }: InvitationRow,
): Promise<void> =>
  audit.record(tx, {
    workspaceId,
    eventType: "invitation.revoked",
    actorId,
    resourceType: "invitation",
    resourceId: typeId("inv", id),
    input: { role, email },
    output: null,
  });

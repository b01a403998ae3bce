import type { AddMember, Member, PersonRole } from "@tidemill/contract";
import type { Actor } from "#audit";
import type { LockAccess, SignedIn } from "#http";
import { type Db, notFound, type PersonId, type ProblemError, problem, type Transactional, typeId, uuidOf } from "#kernel";
import type { AdminContext } from "#workspaces";
import { revokeInvitationsBy } from "../links/invitations.ts";
import type { PeopleContext } from "../people-context.ts";
import { keepPerson } from "../person-store.ts";
import {
  deleteMembership,
  findMember,
  hasOtherAdmin,
  insertMembership,
  lockMembers,
  type MemberRow,
  mayAddAcrossWorkspaces,
  updateRole,
} from "./membership-store.ts";

type MembersContext = Pick<AdminContext, "audit">;

export const showMember = ({ id, name, email, role, created_at }: MemberRow): Member => ({
  id: typeId("usr", id),
  name,
  email,
  role,
  created_at,
});

export const readPersonId = (text: string): PersonId | null => uuidOf("usr", text) as PersonId | null;

/**
 * Adds a person without asking them, which also shows their name and mail address. So only a person may do this, and only for people whom
 * they administer in another workspace. Operators may add anybody. For everybody else the result is the same as for an unknown address.
 *
 * @throws FORBIDDEN for a key; NOT_FOUND; CONFLICT when they are already a member
 */
export async function addMember(
  tenant: Transactional,
  { database, audit }: Pick<PeopleContext, "database" | "audit">,
  actor: Actor,
  by: SignedIn | null,
  { id, role }: AddMember,
  hold: LockAccess,
): Promise<Member> {
  if (!by) throw problem("FORBIDDEN", {}, { message: "Keys cannot add people without their consent. Invite them: POST /v1/invitations." });
  const personId = readPersonId(id);
  if (!personId || !(await mayAddAcrossWorkspaces(database, actor.workspaceId, by.sessionId, personId))) throw memberNotFound(id);
  return tenant.transaction(async (tx) => {
    if (!(await keepPerson(tx, personId))) throw memberNotFound(id);
    await hold(tx);
    const inserted = await insertMembership(tx, actor.workspaceId, personId, role);
    const member = await findMember(tx, actor.workspaceId, personId);
    if (!member) throw memberNotFound(id);
    if (!inserted) throw problem("CONFLICT", {}, { message: "This person is already a member." });
    await auditMember(tx, audit, actor, "member.added", personId, { role }, null);
    return showMember(member);
  });
}

/** Changes the role of a member, immediately for all their sessions. @throws NOT_FOUND; INVALID_STATE for the last admin */
export const patchMember = (
  database: Transactional,
  { audit }: MembersContext,
  actor: Actor,
  personId: PersonId,
  role: PersonRole,
  hold: LockAccess,
): Promise<Member> =>
  database.transaction(async (tx) => {
    await hold(tx);
    const before = await lockMember(tx, actor, personId);
    if (role !== "admin") await refuseLastAdmin(tx, actor, before);
    await updateRole(tx, actor.workspaceId, personId, role);
    if (role !== "admin") await revokeInvitationsBy(tx, audit, actor, typeId("usr", personId));
    const changed = { before: { role: before.role }, after: { role } };
    await auditMember(tx, audit, actor, "member.updated", personId, { role }, changed);
    return showMember({ ...before, role });
  });

/** Removes a member, immediately for all their sessions. @throws NOT_FOUND; INVALID_STATE for the last admin */
export const removeMember = (
  database: Transactional,
  { audit }: MembersContext,
  actor: Actor,
  personId: PersonId,
  hold: LockAccess,
): Promise<void> =>
  database.transaction(async (tx) => {
    await hold(tx);
    const before = await lockMember(tx, actor, personId);
    await refuseLastAdmin(tx, actor, before);
    await deleteMembership(tx, actor.workspaceId, personId);
    await revokeInvitationsBy(tx, audit, actor, typeId("usr", personId));
    await auditMember(tx, audit, actor, "member.removed", personId, { role: before.role }, null);
  });

export const memberNotFound = (id: string): ProblemError => notFound({ resource: "member", id });

async function lockMember(tx: Db, { workspaceId }: Actor, personId: PersonId): Promise<MemberRow> {
  // Two admins who remove each other at the same time would leave none.
  await lockMembers(tx, workspaceId);
  const found = await findMember(tx, workspaceId, personId);
  if (!found) throw memberNotFound(typeId("usr", personId));
  return found;
}

async function refuseLastAdmin(tx: Db, { workspaceId }: Actor, { id, role }: MemberRow): Promise<void> {
  if (role !== "admin" || (await hasOtherAdmin(tx, workspaceId, id))) return;
  throw problem(
    "INVALID_STATE",
    { state: "last_admin", allowed_from: [] },
    { message: "The last admin of a workspace cannot be removed or get another role. Make another member an admin first." },
  );
}

export const auditMember = (
  tx: Db,
  audit: AdminContext["audit"],
  { workspaceId, actorId }: Actor,
  eventType: "member.added" | "member.updated" | "member.removed",
  personId: PersonId,
  input: object,
  output: object | null,
): Promise<void> =>
  audit.record(tx, { workspaceId, eventType, actorId, resourceType: "member", resourceId: typeId("usr", personId), input, output });

import { type Db, type PersonId, typeId } from "#kernel";
import { type AdminContext, SYSTEM } from "#workspaces";
import { recordFor } from "../account-log.ts";
import { listInvitedToAcrossWorkspaces } from "../links/invitation-store.ts";
import { revokeInvitationsBy, revokeOperatorInvitations } from "../links/invitations.ts";
import { findManagedRole, putManagedMembership, putManagedOperator } from "../members/managed-store.ts";
import { auditMember } from "../members/members.ts";
import { deleteMembership, hasOtherAdmin, lockMembersAcrossWorkspaces } from "../members/membership-store.ts";
import type { GroupRights } from "./group-roles.ts";

/**
 * Gives a person the rights of their groups, and removes the rights of groups that they have left. The person must be locked. The last
 * admin of a workspace stays.
 */
export async function applyGroups(
  tx: Db,
  { audit, ids }: Pick<AdminContext, "audit" | "ids">,
  personId: PersonId,
  { operator, roles }: GroupRights,
): Promise<void> {
  const invitedTo = operator === false ? await listInvitedToAcrossWorkspaces(tx, personId) : [];
  await lockMembersAcrossWorkspaces(tx, [...roles.keys(), ...invitedTo]);
  if (operator !== null && (await putManagedOperator(tx, personId, operator))) {
    await recordFor(tx, { ids }, personId, SYSTEM, operator ? "operator.granted" : "operator.revoked", "identity provider");
    if (!operator) await revokeOperatorInvitations(tx, audit, personId, typeId("usr", personId));
  }
  for (const [workspaceId, role] of [...roles].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const before = await findManagedRole(tx, workspaceId, personId);
    const leaves = before === "admin" && role !== "admin";
    if (leaves && !(await hasOtherAdmin(tx, workspaceId, personId))) continue;
    const actor = { workspaceId, actorId: typeId("usr", personId) };
    if (leaves) await revokeInvitationsBy(tx, audit, actor, actor.actorId);
    if (role !== null) {
      const changed = await putManagedMembership(tx, workspaceId, personId, role);
      const eventType = before === null ? "member.added" : "member.updated";
      if (changed) await auditMember(tx, audit, actor, eventType, personId, { role, by: "identity provider" }, null);
    } else if (before !== null) {
      await deleteMembership(tx, workspaceId, personId);
      await auditMember(tx, audit, actor, "member.removed", personId, { role: before, by: "identity provider" }, null);
    }
  }
}

import type { PersonRole } from "@tidemill/contract";
import { type Db, type PersonId, problem, type Transactional, typeId, type Uuid, type WorkspaceId } from "#kernel";
import type { AdminContext } from "#workspaces";
import { OPERATOR } from "#workspaces";
import { type AccountEventRow, listAccountEvents } from "../account-event-store.ts";
import { recordFor } from "../account-log.ts";
import { normalizeEmail } from "../email.ts";
import { listInvitedToAcrossWorkspaces } from "../links/invitation-store.ts";
import { revokeInvitationsBy, revokeOperatorInvitations } from "../links/invitations.ts";
import type { LinkContext } from "../links/make-link.ts";
import { dropCredentials, makeResetLink } from "../links/reset.ts";
import {
  deletePerson,
  findPersonByEmail,
  insertPerson,
  listWorkspaceIdsAcrossWorkspaces,
  lockPerson,
  lockPersonToRemove,
  type PersonRow,
  setOperator,
} from "../person-store.ts";
import { shownName } from "../shown-name.ts";
import { auditMember } from "./members.ts";
import { hasOtherAdmin, insertMembership, listOwnAcrossWorkspaces, lockMembersAcrossWorkspaces } from "./membership-store.ts";

/** What commands need, and where links lead. */
export type ManageContext = AdminContext & LinkContext;

export interface NewPersonTerms {
  readonly name: string;
  readonly email: string;
  readonly operator: boolean;
  readonly workspaceId: WorkspaceId | null;
  readonly role: PersonRole;
}

/**
 * Creates a person who sets their password by a link, or adds an existing person to a workspace.
 *
 * @returns the link; null for an existing person
 */
export const addPerson = (
  database: Transactional,
  context: ManageContext,
  terms: NewPersonTerms,
): Promise<{ id: string; url: string | null }> =>
  database.transaction(async (tx) => {
    const email = normalizeEmail(terms.email);
    const known = await findPersonByEmail(tx, email);
    const id = known?.id ?? (context.ids.next() as PersonId);
    if (!known) {
      await insertPerson(tx, {
        id,
        name: shownName(terms.name) ?? email,
        email,
        passwordHash: null,
        operator: terms.operator,
        verified: false,
      });
    } else if (terms.operator) await setOperator(tx, id, true);
    if (terms.operator) await recordFor(tx, context, id, OPERATOR, "operator.granted");
    if (terms.workspaceId !== null) {
      const actor = { workspaceId: terms.workspaceId, actorId: OPERATOR };
      if (!(await insertMembership(tx, terms.workspaceId, id, terms.role))) {
        throw problem("CONFLICT", {}, { message: "There is no such workspace, or the person already belongs to it." });
      }
      await auditMember(tx, context.audit, actor, "member.added", id, { role: terms.role }, null);
    }
    const url = known ? null : await makeResetLink(tx, context, { personId: id, email: null, createdBy: OPERATOR });
    return { id: typeId("usr", id), url };
  });

/** Removes all credentials of a person, ends their sessions, and makes a link to set a new password. Null: nobody has the address. */
export const resetPerson = (
  database: Transactional,
  context: ManageContext,
  email: string,
): Promise<{ personId: PersonId; url: string } | null> =>
  database.transaction(async (tx) => {
    const person = await lockByEmail(tx, email);
    if (!person) return null;
    await dropCredentials(tx, person.id);
    await recordFor(tx, context, person.id, OPERATOR, "account.reset");
    const url = await makeResetLink(tx, context, { personId: person.id, email: null, createdBy: OPERATOR });
    return { personId: person.id, url };
  });

/** Makes a person an operator, or ends that, immediately. Returns the person; null when nobody has the address. */
export const changeOperator = (
  database: Transactional,
  context: Pick<AdminContext, "audit" | "ids">,
  email: string,
  operator: boolean,
): Promise<PersonId | null> =>
  database.transaction(async (tx) => {
    const person = await lockByEmail(tx, email);
    if (!person) return null;
    await setOperator(tx, person.id, operator);
    await recordFor(tx, context, person.id, OPERATOR, operator ? "operator.granted" : "operator.revoked");
    if (!operator) {
      await lockMembersAcrossWorkspaces(tx, await listInvitedToAcrossWorkspaces(tx, person.id));
      await revokeOperatorInvitations(tx, context.audit, person.id, OPERATOR);
    }
    return person.id;
  });

/**
 * Removes a person, with their sessions and memberships.
 *
 * @param force removes the person even if they are the last admin of a workspace
 * @returns the person; null when nobody has the address
 * @throws INVALID_STATE for the last admin of a workspace
 */
export const removePerson = (
  database: Transactional,
  { audit }: Pick<AdminContext, "audit">,
  email: string,
  force: boolean,
): Promise<PersonId | null> =>
  database.transaction(async (tx) => {
    const person = await lockPersonToRemove(tx, normalizeEmail(email));
    if (!person) return null;
    const workspaceIds = (await listWorkspaceIdsAcrossWorkspaces(tx, person.id)).sort();
    await lockMembersAcrossWorkspaces(tx, [...workspaceIds, ...(await listInvitedToAcrossWorkspaces(tx, person.id))]);
    const roles = new Map((await listOwnAcrossWorkspaces(tx, person.id)).map(({ id, role, name }) => [id, { role, name }]));
    for (const workspaceId of workspaceIds) {
      const own = roles.get(workspaceId);
      if (!force && own?.role === "admin" && !(await hasOtherAdmin(tx, workspaceId, person.id))) {
        const message = `This is the last admin of the workspace ${JSON.stringify(own.name)}. Make another one first, or use --force.`;
        throw problem("INVALID_STATE", { state: "last_admin", allowed_from: [] }, { message });
      }
      const actor = { workspaceId, actorId: OPERATOR };
      if (own) await auditMember(tx, audit, actor, "member.removed", person.id, { role: own.role }, null);
      await revokeInvitationsBy(tx, audit, actor, typeId("usr", person.id));
    }
    await revokeOperatorInvitations(tx, audit, person.id, OPERATOR);
    await deletePerson(tx, person.id);
    return person.id;
  });

async function lockByEmail(tx: Db, email: string): Promise<PersonRow | null> {
  const found = await findPersonByEmail(tx, normalizeEmail(email));
  return found && lockPerson(tx, found.id);
}

/** What happened to the account of the person with this address, newest first. Null: nobody has the address. */
export async function listEventsOf(db: Db, email: string, before: Uuid | null, limit: number): Promise<AccountEventRow[] | null> {
  const person = await findPersonByEmail(db, normalizeEmail(email));
  return person && listAccountEvents(db, person.id, before, limit);
}

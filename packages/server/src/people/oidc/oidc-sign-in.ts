import type { FastifyRequest } from "fastify";
import type { IDToken } from "openid-client";
import { type Db, type PersonId, typeId } from "#kernel";
import { normalizeEmail } from "../email.ts";
import type { PeopleContext } from "../people-context.ts";
import { insertPerson } from "../person-store.ts";
import type { OpenedSession, ProvenPerson } from "../sessions/sessions.ts";
import { shownName } from "../shown-name.ts";
import { applyGroups } from "./apply-groups.ts";
import { type GroupRights, readRules, rightsOf } from "./group-roles.ts";
import { findIdentity, insertIdentity, lockIdentity, lockPersonByIdentity } from "./identity-store.ts";

export interface OidcRules {
  readonly roles: readonly string[];
  readonly groupsClaim: string;
}

/** Why a person whom the provider knows is not signed in here. */
export type OidcRefusal = "no_access" | "no_email" | "email_taken";

/**
 * Signs in the person who has the account at the provider. The account is identified by issuer and subject alone: a mail address, which
 * anybody may claim there, never leads to an account. An unknown person gets an account if their groups give them any right.
 */
export async function signInByClaims(
  context: PeopleContext,
  request: FastifyRequest,
  claims: IDToken,
  { roles, groupsClaim }: OidcRules,
): Promise<OpenedSession | OidcRefusal> {
  const { database, sessions } = context;
  const rights = rightsOf(readRules(roles), groupsIn(claims[groupsClaim]));
  const result = await database.transaction(async (tx) => {
    // Two simultaneous sign-ins of an unknown person would make two accounts.
    await lockIdentity(tx, claims.iss, claims.sub);
    const person = (await lockPersonByIdentity(tx, claims.iss, claims.sub)) ?? (await addPerson(tx, context, claims, rights));
    if (typeof person === "string") return person;
    await applyGroups(tx, context, person.id, rights);
    const opened = await sessions.open(tx, request, person, "oidc");
    return opened ? { opened, person } : "no_access";
  });
  if (typeof result === "string") return result;
  context.onPersonChanged(result.person.id);
  return result.opened;
}

async function addPerson(
  tx: Db,
  { ids }: PeopleContext,
  claims: IDToken,
  { operator, roles }: GroupRights,
): Promise<ProvenPerson | OidcRefusal> {
  if (operator !== true && [...roles.values()].every((role) => role === null)) return "no_access";
  if (typeof claims.email !== "string" || !/^[^\s@]+@[^\s@]+$/.test(claims.email)) return "no_email";
  const id = ids.next() as PersonId;
  const email = normalizeEmail(claims.email);
  const name = (typeof claims.name === "string" && shownName(claims.name)) || email;
  const person = { id, name, email, passwordHash: null, operator: false, verified: claims.email_verified === true };
  const inserted = await insertPerson(tx, person);
  if (!inserted) return "email_taken";
  if (!(await insertIdentity(tx, claims.iss, claims.sub, { id, version: inserted.version }))) throw new Error("The identity is taken.");
  return { id, version: inserted.version };
}

/** Adds the account at the provider to the person who is signed in. Returns false when it belongs to another person. */
export async function linkIdentity(
  { database, account, emit }: PeopleContext,
  request: FastifyRequest,
  person: ProvenPerson,
  claims: IDToken,
): Promise<boolean> {
  const linked = await database.transaction(async (tx) => {
    await lockIdentity(tx, claims.iss, claims.sub);
    const inserted = await insertIdentity(tx, claims.iss, claims.sub, person);
    if (inserted) await account.record(tx, request, person.id, "identity.added", claims.iss);
    return inserted;
  });
  if (linked) emit("identity_linked", { personId: typeId("usr", person.id), issuer: claims.iss });
  return linked || (await findIdentity(database, claims.iss, claims.sub)) === person.id;
}

const groupsIn = (claim: unknown): string[] => [claim].flat().filter((group): group is string => typeof group === "string");

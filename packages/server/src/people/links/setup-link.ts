import type { Db } from "#kernel";
import { SYSTEM } from "#workspaces";
import { anyPerson } from "../person-store.ts";
import { findFirstWorkspace } from "./link-store.ts";
import { type LinkContext, makeLink } from "./make-link.ts";

/** How long set-up links and invitations can be used. */
export const LINK_HOURS = 72;

/** Makes a link whose first user becomes an operator, and an admin of the first workspace. Returns its address, which is not stored. */
export async function makeSetupLink(db: Db, context: LinkContext, createdBy: string): Promise<string> {
  const workspaceId = await findFirstWorkspace(db);
  return (await makeLink(db, context, { kind: "setup", workspaceId, role: "admin", createdBy, hours: LINK_HOURS })).url;
}

/** Makes a set-up link if nobody can sign in yet. */
export const makeFirstSetupLink = async (db: Db, context: LinkContext): Promise<string | null> =>
  (await anyPerson(db)) ? null : makeSetupLink(db, context, SYSTEM);

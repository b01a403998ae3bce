import type { Db } from "#kernel";
import { SYSTEM } from "#workspaces";
import { findFirstWorkspace, insertLink } from "./link-store.ts";
import { type PeopleContext, pageUrl } from "./people-context.ts";
import { anyPerson } from "./person-store.ts";
import { hashNewToken, makeToken } from "./token.ts";

const LINK_HOURS = 72;

type SetupContext = Pick<PeopleContext, "random" | "ids" | "publicUrl" | "nodeUrl">;

/** Makes a link that makes whoever uses it first an operator, and an admin of the first workspace. Returns its address, which is not stored. */
export async function makeSetupLink(db: Db, context: SetupContext, createdBy: string): Promise<string> {
  const token = makeToken(context.random);
  await insertLink(db, {
    id: context.ids.next(),
    kind: "setup",
    hash: hashNewToken(token),
    workspaceId: await findFirstWorkspace(db),
    role: "admin",
    email: null,
    personId: null,
    mailed: false,
    createdBy,
    hours: LINK_HOURS,
  });
  return pageUrl(context, `link/${token}`);
}

/** Makes a set-up link if nobody can sign in yet. */
export const makeFirstSetupLink = async (db: Db, context: SetupContext): Promise<string | null> =>
  (await anyPerson(db)) ? null : makeSetupLink(db, context, SYSTEM);
